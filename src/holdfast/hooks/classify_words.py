"""The vocabulary of the classifier: verbs of change, of looking and of running, question openings, and more."""

from __future__ import annotations

from holdfast.core.words import word_set

CODE = "`"  # replaces any name of a file or of a thing in code


def phrases(listed: str) -> tuple[str, ...]:
    """Splits phrases that are matched literally, separated by a comma and one space."""
    return tuple(listed.split(", "))


CHANGE = word_set(
    """add rm stack collapse pick fix implement refactor rename remove delete replace update change create write make
    build extract move port convert migrate bump upgrade downgrade introduce support handle address resolve rewrite
    simplify clean cleanup drop disable enable expose hide inline split combine consolidate deduplicate dedupe
    reduce optimize optimise speed cache debounce throttle validate sanitize escape wrap unwrap log print display
    render style restyle align center centre translate localize localise document annotate type mock stub cover test
    parametrize generate scaffold bootstrap init initialize initialise wire hook integrate connect register export
    import configure set setup adjust tweak modify edit correct repair patch solve finish complete finalize finalise
    extend improve enhance polish restore revert undo rollback redo apply adapt adopt switch swap use pass return
    raise throw catch ignore skip avoid stop prevent ensure enforce require allow deny restrict limit cap default
    persist store save load parse format lint sort filter group order paginate truncate trim strip prefix append
    prepend insert inject embed encode decode encrypt hash sign flatten unify normalize normalise standardize
    generalize generalise parameterize abstract decouple isolate encapsulate modularize reorganize reorganise
    restructure reorder rework redesign overhaul retire deprecate archive copy duplicate mirror put place keep turn
    shorten shrink expand widen narrow increase decrease lower tighten loosen relax harden secure guard protect
    memoize vectorize parallelize batch stream retry rethrow propagate bubble emit dispatch subscribe listen toggle
    animate resize rotate crop highlight bold indent reindent uncomment comment delegate override overload inherit
    subclass fill populate seed backfill bring call name code program develop craft redirect route rewire unskip
    re-enable reenable readd re-add reintroduce autogenerate automate include exclude mark flag bind map link unlink
    attach detach pin unpin vendor reuse share hardcode tidy nuke eliminate substitute redact mask obfuscate minify
    containerize mention organize organise tie dockerize autocomplete prefill clamp round pad colour color recolor
    theme darken lighten reword rephrase"""
)
LOOK = word_set(
    """look check review double websearch investigate analyze analyse explore find search read examine inspect verify
    audit trace study compare evaluate assess research brainstorm plan think consider list show scan survey profile
    measure benchmark diagnose debug identify locate dig see figure determine confirm double-check doublecheck
    recheck re-check browse grep inventory estimate scope outline propose suggest recommend discuss walk reproduce
    monitor watch critique crawl visit count rank ultrathink reflect ideate sketch gather collect reread re-read
    understand sanity-check crosscheck cross-check familiarize skim eval judge strategize strategise reconsider
    rethink revisit sweep hunt comb scour peek dive poke prove comprehend"""
)
TELL = word_set(
    """explain describe summarize summarise tell know learn hear clarify elaborate define recap answer remind help give
    teach interpret
    instruct guide coach"""
)
CHORE = word_set(
    """run rerun re-run execute start restart launch kill commit push pull merge rebase checkout stash cherry-pick
    squash deploy release publish ship tag amend fetch open close install uninstall reinstall submit send post
    upload download reply respond approve assign invoke spawn wait pause sleep ping force-push unstage stage"""
)
# Objects that are made without changing a file: with these a verb of change is a chore or a look.
CHORE_OBJECTS = word_set(
    """pr prs pull-request pullrequest branch branches worktree worktrees commit commits issue issues ticket tickets
    tag release stash bead beads mr gist milestone screenshot email request session sessions checkpoint checkpoints
    untracked reset"""
)
LOOK_OBJECTS = word_set(
    """plan plans proposal summary overview report analysis review estimate comparison list recommendation
    recommendations suggestion suggestions assessment outline breakdown explanation brainstorm roadmap research
    investigation look audit evaluation writeup guess survey search"""
)
MAKERS = word_set(
    """create make open write draft do submit raise file prepare put delete remove update generate give get take have
    set cut close rename revert save clean"""
)
# Words that end the object.
NAMED = word_set(
    """in to for of on with from that which so at into using against by and or but about as we you i it they if when
    where , because based called named titled before after like describing explaining without"""
)
# Heads that are as often nouns: an order only where a thing follows.
NOUNISH = word_set(
    """default type pass log code cache test format lint store style set map link cap hash sign stream batch order
    group filter flag mark limit hook mock stub document print import export return comment load cover stop raise
    place share guard escape trim color colour theme round pad program label tag sort emit bold support call name
    patch index display clean archive"""
)
DETERMINERS = word_set(
    """a an the this that these those my our your its it them some any all each every both more only another ` no
    everything tests out up down for"""
)
HELPERS = word_set(
    """skill skills agent agents subagent subagents reviewer plugin superpower mcp workflow workers worker lsp"""
)

FILLERS = word_set(
    """please pls plz also now just ok okay k yes yeah yep yup no nope hey hi hello so well actually then first firstly
    next maybe and but or hmm hm uh uhh um great cool nice perfect good right sure alright finally again quickly
    simply kindly instead still oh ah thanks thx additionally afterwards secondly lastly second third last btw
    meanwhile otherwise basically anyway honestly sorry dude man wait possibly already really too go ahead to try
    somehow perhaps okk okkk yah yea ya heres alrighty"""
)
WISH_HEADS = word_set(
    """want need needs wants like love prefer wanna gotta must should ought have wish needed wanted"""
)
QUESTION_HEADS = word_set(
    """what what's whats why why's where where's when who who's whose which how how's is are was were do does did don't
    doesn't didn't isn't aren't wasn't weren't has have hasn't haven't had should shouldn't would wouldn't could
    couldn't can can't will won't may might am any anything"""
)
MUST = word_set(
    """should expect expected must shouldn't mustn't shall needs instead rather ought supposed belongs unnecessary
    redundant unneeded better prefer"""
)
BROKEN = word_set(
    """twice duplicate duplicates fail fails failed failing failure failures error errors errored erroring broken
    breaks broke crash crashes crashed crashing bug bugs buggy exception exceptions wrong incorrect incorrectly
    flaky regression regressed hang hangs hanging stuck freezes freezing panic panics leak leaks leaking missing
    misaligned overlap overlaps overlapping flicker flickers flickering typo typos complains complaining deadlock
    deadlocks segfault segfaults timeouts garbled duplicated mismatch unreadable misleading oddity weird glitch
    glitches ugly invalid inconsistent omits undefined vulnerable unreachable race outdated red unhappy unused
    hardcoded conflicts conflict improperly slow off corrupt corrupted lost issue issues problem problems fault gaps
    gone vanished disappeared mistake mistakes disconnected jumbled blurry"""
)
NOT = word_set(
    """isn't aren't doesn't don't didn't can't cannot won't wasn't weren't never not no nothing nowhere cant doesnt"""
)
WORKS = word_set(
    """work works working good right correct correctly properly enough useful needed ideal great see show render need
    want handle support make a what the like"""
)

# Expressions of doubt: a question without its mark.
DOUBTS = phrases(
    "i wonder, wondering, not sure if, not sure whether, do you think, i'm considering, any idea, curious, don't "
    "understand, don't get why, want to know, want to understand, no idea, any thoughts, starting to feel, was "
    "thinking, am thinking, i'm thinking, thinking out loud, playing with ideas, toying with, misunderstanding, "
    "make a lot of sense, not convinced, i thought, doesn't that, isn't that, shouldn't we, wouldn't it, wouldn't"
    " that, don't we, aren't we, let me know if you agree, let me know what, let me know your"
)
# Questions that follow a complaint and only underline it.
RHETORICAL = phrases(
    "what's going on, what is going on, huh, what gives, wtf, what's happening, what about the, how about, is it "
    "possible, is that possible"
)
AUXILIARIES = word_set(
    """is are was were do does did has have had can could will would should isn't aren't doesn't don't didn't am"""
)
BETWEEN = word_set(
    """also do really would just still only all actually think will definitely probably maybe then"""
)
# Verbs that describe the program rather than what the agent should look at or run.
PRODUCT = word_set(
    """show list search count rank watch monitor find send post open close start stop publish upload download install
    print check read measure collect"""
)
BRANCHES = word_set("branch main master origin upstream develop dev trunk head parent worktree")
IN_CODE = word_set(
    """` codebase repo repository anywhere file files module modules function class code implementation project used
    endpoint handler folder directory tests place places"""
)
SUBJECTS = word_set("we you i they it there u")
WISHING = word_set("i we i'd we'd it they need want needs")
WH = word_set("what what's whats why why's where where's who which how how's whose")
REACHED = word_set("used anywhere reachable referenced called anything unused everywhere elsewhere")
PHRASAL = (("get", "rid"), ("take", "over"), ("take", "out"), ("take", "away"), ("get", "back"))
SLIPS = word_set("forgot missed broke removed left didn't deleted ignored skipped misunderstood lost still")
IDIOMS = (
    ("move", "on"),
    ("keep", "in"),
    ("keep", "me"),
    ("make", "sense"),
    ("set", "aside"),
    ("save", "that"),
    ("stop", "here"),
    ("stop", "there"),
    ("put", "aside"),
    ("use", "your"),
    ("wrap", "up"),
    ("keep", "an"),
    ("pass", "on"),
)
HERE = word_set("codebase repo repository project")
TAGS = ("right", "yeah", "correct", "no", "then")
FINITE = word_set(
    """is are was were fails failed fail shows has have had does doesn't isn't aren't says of should must will would
    can can't won't gets got keeps still"""
)
NAMES_OF_ERRORS = word_set(
    """handling message messages page pages code codes boundary type types state states handler log"""
)
FALLS_SHORT = ("doesn't", "isn't", "aren't", "wasn't", "won't", "never", "doesnt")
TALK = word_set("say talk assume chat me pretend hope ask note")
# Faults of these concern the state of a repository, not its files.
GIT = word_set("branch branches main master merged rebased rebase worktree upstream origin stash")
REFERRED = word_set("this that these those")  # "debugging this issue": known, and not reported
NAMES_OF_FAULTS = word_set("issue issues problem problems bug bugs error errors")
REMARKS = word_set("comments comment feedback findings suggestions nits remarks")
REMARKED = word_set("there has have left came come back new some got more few another")
DELEGATES = word_set("spawn respawn delegate dispatch assign ask tell instruct")  # … another agent to do it
UNABLE = ("cannot", "can't")
OF_THE_MIND = word_set("remember think decide tell wait believe imagine recall help say guess agree")
STATES = word_set(
    "decided convinced interested required related needed involved concerned finished supposed mistaken"
)
HEDGES = word_set("maybe perhaps might")
IT = ("it", "that", "this", "so", "both", "all")
SPEAKS = word_set(
    "tell show ask notify warn inform let give send alert remind help prompt invite offer explain"
)
ASKS = word_set("know see sure tell check show understand wonder say explain asked asking")
OPENERS = word_set("also next nit todo nitpick feature feat bug task improvement enhancement requirement")
MORE_OR_LESS = word_set(
    "fewer shorter longer smaller bigger larger wider simpler cleaner faster darker lighter"
)
NO_PLAIN_VERBS = ("do", "have", "open", "start", "think", "see")
NOUNS_TOO = word_set(
    """build update change run deploy release merge push start search check review install commit upgrade"""
)
# With these, any verb except one of repair is a chore: "split this commit", "bring the branch up to date".
GIT_THINGS = word_set(
    "commit commits branch branches pr prs pull-request worktree stash rebase merged upstream origin"
)
MENDS = word_set(
    """fix implement address resolve repair improve simplify finish complete handle test use support show display
    ignore skip avoid stop prevent keep refactor rework document correct"""
)
ENDS_A_THING = NAMED | word_set(
    "up title titles message messages name names description now please first locally back again"
)
NOT_WORK = TALK | word_set(
    """actually be have get do go it that this we you i the a an really even still also believe remember trust rely
    expect assume agree wait hear mean live stay happen guess imagine please come hold meet speak see call share
    possibly no proceed continue"""
)
DONE = word_set("put made done shown hidden set split built written taken cut kept read sent dropped run")

CHORES_DONE = word_set("merged committed pushed deployed released published reviewed shipped landed")
AFTER_NO = word_set("wait just but that's it's problem problems worries the this that thanks rush idea")
AFTER_HOW = ("much", "many", "hard", "long", "to", "come")
AFTER_SEE = WH | {"if", "whether", "that"}
BEFORE_RIGHT = ("the", "all", "not", "to", "is", "in")  # "isn't that right" asks, "all right" does not
BEFORE_A_CLAUSE = word_set("what whether why how where which when if")
CHORES = CHORE | CHORES_DONE
OTHER_WORK = LOOK | TELL | CHORE | TALK
# "can you", "let's", "you should", "need to", "i'd like to": what may lead to the verb of an order.
FRAME_HEADS = word_set(
    """can could would will can't couldn't let's lets please pls plz you need want remember needs i we i'd we'd it they
    id"""
)
HAVING = ("take", "have", "get")
GOING_ON = ("start", "begin", "try", "continue", "keep")
FETCHING = ("get", "take", "bring")
DIVIDING = ("put", "split", "group", "divide")
GETTING = ("i'm", "am", "we're", "keeps")
IS_NOT = ("not", "isn't", "aren't", "wasn't")
USERS = ("user", "users", "caller", "customer")
WHETHER = WH | {"whether", "if"}
LEADS_ON = (["to"], ["you"])
WHO_ACTS = ("i", "you", "we", "users")
WISHERS = ("i", "we", "i'd", "we'd", "users")
# Addressed to people rather than done in files.
TO_PEOPLE = (("comment", "on"), ("ignore", "that"), ("ignore", "this"), ("ignore", "it"))
ELIDED = word_set(
    "be work worked have not also still all only always never now show been happen help seem look"
)
BEGINNING = word_set("start begin commence continue proceed resume finish complete")
PIECES = word_set(
    "phase phases task tasks step steps chunk milestone story stories iteration sprint part implementation work"
)
SOFTLY = word_set(", again it this that out") | {""}
ABOUT_A_COMMIT = phrases("commit message, pr description, pr title, pull request description, commit title")
OF_OTHERS = word_set("you might may user users people they could would will")
OWN_FAULTS = ("missing", "wrong", "stuck", "lost", "confused", "mistake")
ONESELF = word_set("i i'm am we're")


# Whole prompts: continuations, requests to change nothing, thanks, commands, and small talk.

# Commands of hosts and of common command sets, by what they trigger.
SLASH = {
    "code-gen": word_set(
        """implement fix build code dev develop refactor test tests tdd write add create do execute-plan work lfg
        bugfix debug-fix feature simplify docs document execute"""
    ),
    "exploration": word_set(
        """review plan explore brainstorm analyze analyse investigate research code-review security-review audit
        pr-comments ultrareview debug understand spec specify tasks"""
    ),
    "qa": word_set("ask btw explain question"),
}
CHAT = word_set(
    """thanks thank thx ty great nice cool awesome perfect lol haha hello hi hey morning evening goodbye bye cheers
    good excellent amazing wonderful congrats sweet brilliant neat wow you much so very day night today looks work
    job super well done how are to see later tomorrow soon lgtm welcome pleasure"""
)
ASSENT = word_set(
    """yes yeah yep yup ok okay okk okkk yah yea ya sure k right correct agreed fine alright y hmm hm no nope n wait
    stop true false"""
)
MANNERLY = word_set("please pls plz , now then just so")
CHOOSING = word_set(
    """and & first second third item items number option options approach both all one two three four the then"""
)
GO_ON = phrases(
    "do it, do that, do so, do this, do both, do all, do them, go ahead, go for it, go on, proceed, continue, "
    "keep going, carry on, make it so, let's do, lets do, let's go, lets go, let's try, lets try, let's give, "
    "let's implement, go with, the first one, the second one, the last one, the former, the latter, both, all of "
    "them, all three, all four, all of the above, option, options, approach, try again, retry, next one, next "
    "step, implement, same for, same thing, now the same, sounds good, work on, start with, start on, begin, pick"
    " up, take the, step, chunk, phase, item, point, part, get started, move on, do the, all"
)
GOES_ON = phrases(
    "go ahead, do it, do that, do both, do all, do so, do those, do these, do them, proceed, continue, go for it"
)
TOLD_TO_GO_ON = phrases("you know what to do, try again, try it again, keep at it, have at it, pick up where")
# Phrases that forbid any change; and those that may also limit an order ("but don't edit the tests").
HANDS_OFF = phrases(
    "take no action, not take any action, don't take any action, no code for now, no new code, still no code, "
    "maybe no code, implement right away, tell me first, "
    "for my approval, wait for my approval, wait for approval, until i have reviewed, until i approve, explain how"
    " you would, how would you approach, how would you handle, how would you solve, how would you implement, how "
    "would you do, how you plan to, before writing any code, before you write any code, findings only, research "
    "only, do not make code, don't make code, do not make any code, report back only, don't change any, do not "
    "change any, no code yet, no code changes, without changing any, don't write any code, not implement yet, "
    "implement anything yet, edit files yet, don't make any changes, do not make any changes, don't make changes,"
    " no changes yet, before you change, before making any changes, do not write code, don't write code, just "
    "tell me, only tell me, no edits, don't do anything yet, before implementing, "
    "don't code yet, do not code yet, don't fix anything, do not "
    "edit any, don't edit any, don't implement yet, do not implement yet"
)
NOT_THAT = phrases(
    "read-only, read only, don't edit, do not edit, don't modify, do not modify, don't implement, do not "
    "implement, don't touch, don't fix, do not fix, nothing yet, don't code, do not code"
)
ASIDES = phrases("just a question, just asking, just curious, genuine question, quick question")
SETTLED = phrases(
    "it's working, it works now, that works now, this works now, working now, "
    "is working fine, i've fixed, i fixed, that worked, it worked, what i "
    "wanted"
)
CLOSING = phrases(
    "call it a day, wrong window, wrong chat, never mind, nevermind, ignore my, ignore the last, ignore last, "
    "that's all, that is all"
)
FOR_A_PROGRAM = phrases(
    "return a json, respond with only, respond only with, return only, output only, reply only with, reply with "
    "exactly, respond with exactly, with the exact, return the required"
)
ERROR_PHRASES = phrases(
    "enoent, econnrefused, no such file, permission denied, command not found, cannot find module, "
    "modulenotfound, stack trace, segmentation fault, exit code 1, exited with, cannot read propert, is not "
    "defined, undefined reference, could not resolve, failed to, unexpected token"
)
# How to work rather than what to change: not an order when combined with a look.
MANNERS_OF_WORK = word_set(
    '"use" "make" "write" "include" "ignore" "apply" "create" "avoid" "skip" "follow" "document"'
)
PERSONAL = word_set("i i'm i've we you my me think just")
