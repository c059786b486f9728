// What the page does in the browser beside htmx: keys, dialogs, messages, the theme, copying, and parts that follow files.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const typing = (element) => element.closest("input, textarea, select, [contenteditable]");
const wanted = (event) => !(event.ctrlKey || event.metaKey || event.altKey);

// --- what every request says: this page sent it ---------------------------------------------------------

document.addEventListener("htmx:configRequest", (event) => { event.detail.headers["X-Holdfast"] = "1"; });

// --- messages -------------------------------------------------------------------------------------------

function say(text, bad = false) {
  const toast = document.createElement("div");
  toast.className = bad ? "toast bad" : "toast";
  toast.dataset.toast = "";
  const words = document.createElement("p");
  words.textContent = text;
  toast.append(words);
  document.getElementById("toasts").append(toast);
}

const lost = "This page has ended. Run holdfast ui again and open the new link.";
document.addEventListener("htmx:sendError", () => say(lost, true));
document.addEventListener("htmx:responseError", (event) =>
  say(event.detail.xhr.status === 401 ? lost : "That was refused. Load the page again.", true));

// A message goes after a while, but not while it is read or has the focus.
function retire(toast) {
  setTimeout(() => (toast.matches(":hover, :focus-within") ? retire(toast) : toast.remove()),
    toast.querySelector("[data-undo]") || toast.matches(".bad") ? 20000 : 6000);
}
new MutationObserver((changes) => changes.forEach((change) =>
  change.addedNodes.forEach((node) => { if (node.dataset && "toast" in node.dataset) retire(node); })))
  .observe(document.getElementById("toasts"), { childList: true });
all("[data-toast]").forEach(retire);

// --- dialogs, buttons, copying --------------------------------------------------------------------------

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id === "dialog") all("dialog[data-open-now]", event.detail.target).forEach((dialog) => dialog.showModal());
});
document.addEventListener("htmx:afterSwap", (event) => {  // a form in the place of a row
  const field = event.detail.target.querySelector(":scope > [data-edit] :is(textarea, input, select)");
  if (field) { select(event.detail.target, false); field.focus(); }
});
document.addEventListener("holdfast:changed", () => {
  if (document.activeElement?.closest("[data-edit]")) document.activeElement.blur();  // what is typed in is not replaced
  all("#dialog dialog").forEach((dialog) => dialog.close());
  refresh();
});

// Leaves a form in the place of a row.
function leave(form) {
  const row = form.closest("[data-row]");
  if (form.contains(document.activeElement)) document.activeElement.blur();
  refresh().then(() => { const next = row && document.getElementById(row.id); if (next) select(next); });
}

document.addEventListener("click", (event) => {
  const on = (name) => event.target.closest(`[data-${name}]`);
  const button = on("opens") || on("closes") || on("dismiss") || on("copy") || on("undo");
  if (on("opens")) document.getElementById(button.dataset.opens).showModal();
  else if (on("closes")) button.closest("dialog").close();
  else if (on("dismiss")) button.closest("[data-toast]").remove();
  else if (on("copy")) navigator.clipboard.writeText(button.dataset.copy).then(() => say("Copied"), () => say("The browser refused to copy", true));
  else if (event.target.closest("[data-cancel]")) leave(event.target.closest("form"));
  else if (on("selects")) { const first = document.querySelector(`${on("selects").dataset.selects} [data-row]`); if (first) { event.preventDefault(); select(first); return; } }
  else if (event.target.closest("#theme")) switchTheme();
  all("details.menu[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
  const row = event.target.closest("[data-row]");
  if (row) select(row, false);
});
// An Undo goes once. Its message stays in the page, unseen, until the answer is there, which is announced from it.
document.addEventListener("htmx:beforeRequest", (event) => {
  const undo = event.target.closest("[data-undo]");
  if (undo) { undo.removeAttribute("data-undo"); undo.closest("[data-toast]").hidden = true; }
});
document.addEventListener("htmx:afterRequest", (event) => { const toast = event.target.closest("[data-toast][hidden]"); if (toast) setTimeout(() => toast.remove(), 0); });
document.addEventListener("change", (event) => event.target.closest("form[data-send-on-change]")?.requestSubmit());
document.addEventListener("submit", (event) => {  // an empty filter need not stand in the address
  if (event.target.method === "get" && !event.target.hasAttribute("hx-post")) all("input, select", event.target).forEach((field) => { field.disabled = field.disabled || field.value === ""; });
});

function switchTheme() {
  const root = document.documentElement;
  const dark = (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* kept for this page only */ }
}

// --- keys -----------------------------------------------------------------------------------------------

const selected = () => document.querySelector("[data-row][aria-current]");

function select(row, move = true) {
  all("[data-row][aria-current]").forEach((other) => other.removeAttribute("aria-current"));
  row.setAttribute("aria-current", "true");
  if (!move) return;
  row.scrollIntoView({ block: "nearest" });
  (row.querySelector("[data-open]") || row).focus({ preventScroll: true });
}

function step(by) {
  const rows = all("[data-row]").filter((row) => row.offsetParent);
  if (!rows.length) return;
  const at = rows.indexOf(selected());
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)];
  if (!next.querySelector("[data-open]")) next.tabIndex = -1;
  select(next);
}

let going = 0;
document.addEventListener("keydown", (event) => {
  const search = document.getElementById("search-box");
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    search.focus();
    return search.select();
  }
  const form = event.target.closest("[data-edit]");
  if (form && event.key === "Escape") return leave(form);
  if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) return form.requestSubmit();
  if (event.key === "Escape" && event.target === search) return search.blur();
  if (!wanted(event) || typing(event.target) || document.querySelector("dialog[open]")) return;
  const key = event.key;
  if (Date.now() - going < 1500) {
    going = 0;
    const tab = document.querySelector(`[data-goto="${CSS.escape(key)}"]`);
    if (tab) return tab.click();
  }
  const own = () => selected()?.querySelector(`[data-key="${CSS.escape(key)}"]`)
    || all(`[data-key="${CSS.escape(key)}"]`).find((button) => !button.closest("[data-row]"));
  if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
  else if (key === "Enter" && event.target === selected()) selected().querySelector("[data-open]")?.click();
  else if (key === "/") search.focus();
  else if (key === "?") document.getElementById("keys").showModal();
  else if (key === "g") going = Date.now();
  else if (key === "u" && document.querySelector("[data-undo]")) all("[data-undo]").at(-1).click();
  else if (own()) own().click();
  else return;
  event.preventDefault();
});

// --- parts that follow the files ------------------------------------------------------------------------

let due = new Set();  // topics; "all" stands for every one
let busy = false;
let writing = 0;  // while a write runs, files change one after the other: what follows them waits for its end

const writes = (event) => event.detail.requestConfig?.verb !== "get";
document.addEventListener("htmx:beforeRequest", (event) => { writing += writes(event); });
document.addEventListener("htmx:afterRequest", (event) => {
  if (!writes(event) || event.detail.xhr?.getResponseHeader("HX-Redirect")) return;  // this page goes
  writing -= 1;
  if (due.size) refresh([]);
});

// Loads the page again and replaces the parts that show these topics.
async function refresh(topics = ["all"]) {
  topics.forEach((topic) => due.add(topic));
  if (busy || writing) return;
  busy = true;
  while (due.size && !writing) {
    const now = due;
    due = new Set();
    const parts = all("[data-live]").filter((part) => now.has("all") || part.dataset.live.split(" ").some((topic) => now.has(topic)));
    try {
      const response = parts.length ? await fetch(location.href, { headers: { "X-Holdfast": "1" } }) : null;
      const text = response?.ok ? await response.text() : "";
      // A button whose row were replaced while its write runs would not hear of the end of it.
      if (writing) now.forEach((topic) => due.add(topic));
      else if (text) replace(parts, new DOMParser().parseFromString(text, "text/html"));
    } catch { break; /* the page has ended, and the stream of events says so */ }
    if (due.size) await new Promise((done) => setTimeout(done, 500));  // an agent that writes fast is not followed faster
  }
  busy = false;
}

function replace(parts, page) {
  const row = selected();
  const rows = all("[data-row]");
  const focus = document.activeElement?.id;
  for (const part of parts) {
    const next = page.getElementById(part.id);
    if (!next || next.innerHTML === part.innerHTML || part.contains(document.activeElement) && typing(document.activeElement)) continue;
    const open = all("details[open][id]", part).map((fold) => fold.id);
    part.replaceWith(document.adoptNode(next));
    open.forEach((id) => { const fold = document.getElementById(id); if (fold) fold.open = true; });
    htmx.process(next);
  }
  if (row && !row.isConnected) {  // the same row, or the one that took its place
    const now = document.getElementById(row.id) || all("[data-row]")[Math.min(rows.indexOf(row), all("[data-row]").length - 1)];
    if (now) { if (!now.querySelector("[data-open]")) now.tabIndex = -1; select(now); }
  } else if (focus && document.activeElement === document.body) document.getElementById(focus)?.focus();
}

// The stream of changes is open while the tab can be seen: a browser has few connections, and tabs are many.
let stream = null;
function follow(again) {
  if (document.hidden) {
    stream?.close();
    stream = null;
  } else if (!stream && all("[data-live]").length) {
    stream = new EventSource(`/events?project=${encodeURIComponent(document.body.dataset.project)}`);
    stream.addEventListener("change", (event) => refresh(event.data.split(" ")));
    stream.addEventListener("end", () => { stream.close(); say(lost, true); });
    if (again) refresh();
  }
}
document.addEventListener("visibilitychange", () => follow(true));
addEventListener("pagehide", () => { stream?.close(); stream = null; });
addEventListener("pageshow", (event) => follow(event.persisted));
