"""How facts, decisions, lessons and ledgers look: tables, text, pages and JSON, for any command that shows them."""
