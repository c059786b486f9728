"""What a prompt says as a whole: that it goes on, that nothing is to be changed, thanks, commands, and talk."""

from __future__ import annotations

from holdfast.hot.classify_words import phrases, word_set

# Commands of hosts and of the usual command sets, by what they set off.
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
GOES_ON = (
    "go ahead",
    "do it",
    "do that",
    "do both",
    "do all",
    "do so",
    "do those",
    "do these",
    "do them",
    "proceed",
    "continue",
    "go for it",
)
TOLD_TO_GO_ON = phrases("you know what to do, try again, try it again, keep at it, have at it, pick up where")
# Nothing is to be changed at all; and what may also be a limit of an order ("but don't edit the tests").
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
# How work is to be done rather than what is to change: no order beside a look.
MANNERS_OF_WORK = word_set(
    '"use" "make" "write" "include" "ignore" "apply" "create" "avoid" "skip" "follow" "document"'
)
PERSONAL = word_set("i i'm i've we you my me think just")
