// OpenCode has no command hooks: inside of it this plugin speaks for holdfast, and asks the hook that every other
// agent asks, a short process for each event. It never throws, never holds a prompt longer than its deadline, and
// hands on nothing but what the hook has fenced.
//
// "plugin": [["file:///…/opencode_plugin.js", {"command": ["python", "-I", "-S", "…/hook_entry.py"]}]]
//
// Kilo Code, which is made from OpenCode, is wired with {"host": "kilo"} beside the command.
//
// Without the option it asks the `holdfast` that is on the PATH, which takes a little longer.
import { spawn } from "node:child_process"
import { isAbsolute, resolve } from "node:path"

const LONGEST_MS = 3500 // the hook ends by itself after 3 seconds; a prompt waits no longer for all that it waits for
const LOOKED_UP_MS = 1000 // OpenCode's own answer, which is there at once or never
const LEAVING_MS = 2000 // OpenCode waits 5 seconds for everybody when it leaves
const MOST_OUTPUT = 1 << 20
const MOST_CALLS = 200
const TOOLS = { bash: "Bash", shell: "Bash", question: "AskUserQuestion", read: "Read", edit: "Edit", write: "Write" }
const FENCED = /^\[holdfast ([a-z0-9]{6}): [^\]\n]*\]\n[^]*\n\[\/holdfast \1\]$/
const TITLE = /^\s*You are a title generator/ // a request that is none of the session's

export default {
  id: "holdfast",
  server: async (input, options) => {
    try {
      return hooksOf(input, options)
    } catch {
      return {}
    }
  },
}

function hooksOf({ client, directory }, options) {
  const command = options?.command ?? ["holdfast", "hook"]
  const host = options?.host === "kilo" ? "kilo" : "opencode"
  if (!Array.isArray(command) || !command.length || !command.every((word) => typeof word === "string")) return {}
  const parents = new Map() // session -> the session whose subagent it is, "" for one of a person
  const begun = new Map() // session -> what it was told at its start, and after a compaction: { start, compacted }
  const busy = new Set()
  const compacting = new Set()
  const calls = new Map() // tool call -> what is to be said beside its result
  const underway = new Set()

  const ask = (event, payload, until = Date.now() + LONGEST_MS) => {
    const about = { cwd: directory, hook_event_name: event, ...payload }
    const asked = hook([...command, host], event, about, directory, until - Date.now()).then((said) => {
      if (said.notice) client?.tui?.showToast?.({ body: { message: said.notice, variant: "info" } })?.catch?.(() => {})
      return said
    })
    const settled = asked.catch(() => {})
    underway.add(settled)
    settled.finally(() => underway.delete(settled))
    return asked
  }

  /** The person's session that a session works for: its own, unless it is a subagent's. */
  const person = async (session) => {
    const until = Date.now() + LOOKED_UP_MS
    for (let depth = 0; depth < 20; depth++) {
      if (!parents.has(session)) {
        const found = await soon(client?.session?.get?.({ path: { id: session } }), until - Date.now())
        parents.set(session, text(found?.data?.parentID))
      }
      if (!parents.get(session)) return session
      session = parents.get(session)
    }
    return session
  }

  /** Tells the hook once that a session is there. What it says stays with the session as long as OpenCode runs:
   *  it stands in the system prompt, which OpenCode does not keep, so it is wanted anew when it runs again. */
  const begin = (session, until) => {
    if (!begun.has(session))
      begun.set(session, { start: ask("SessionStart", { session_id: session, source: "startup", anew: true }, until) })
    return begun.get(session)
  }

  const events = {
    "session.created": ({ info }) => parents.set(info.id, text(info.parentID)),
    "session.deleted": ({ info }) => begun.delete(info.id),
    "session.status": async ({ sessionID, status }) =>
      status.type === "idle" ? stopped(sessionID) : busy.add(sessionID),
    "session.idle": ({ sessionID }) => stopped(sessionID),
    "session.compacted": ({ sessionID }) => {
      const session = begun.get(sessionID)
      if (session) session.compacted = ask("SessionStart", { session_id: sessionID, source: "compact" })
    },
  }

  const stopped = async (session) => {
    if (busy.delete(session) && begun.has(session)) await ask("Stop", { session_id: session })
  }

  return {
    event: quiet(async ({ event }) => await events[event.type]?.(event.properties)),

    "chat.message": quiet(async ({ sessionID }, { message, parts }) => {
      const until = Date.now() + LONGEST_MS
      const prompt = typed(parts)
      if (!prompt || (await person(sessionID)) !== sessionID) return
      busy.add(sessionID)
      await begin(sessionID, until).start // what was told at the start is not told again with the prompt
      if (Date.now() >= until) return
      const { context } = await ask("UserPromptSubmit", { session_id: sessionID, prompt }, until)
      const last = parts.at(-1)
      if (context)
        parts.push({
          id: `${last.id}h`, // parts are kept in the order of their ids
          sessionID,
          messageID: message.id,
          type: "text",
          text: context,
          synthetic: true,
        })
    }),

    "experimental.chat.system.transform": quiet(async ({ sessionID }, { system }) => {
      if (!sessionID || compacting.delete(sessionID) || TITLE.test(system[0])) return
      if ((await person(sessionID)) !== sessionID) return
      const session = begin(sessionID)
      for (const told of [session.start, session.compacted]) {
        const { context } = (await told) ?? {}
        if (context) system.push(context)
      }
    }),

    "tool.execute.before": quiet(async ({ tool, sessionID, callID }, { args }) => {
      const name = Object.hasOwn(TOOLS, tool) ? TOOLS[tool] : ""
      if (!name) return
      const until = Date.now() + LONGEST_MS
      const session = await person(sessionID)
      const about = { session_id: session, tool_name: name, tool_input: args }
      if (session !== sessionID) about.agent_id = sessionID
      if (text(args?.workdir)) about.cwd = isAbsolute(args.workdir) ? args.workdir : resolve(directory, args.workdir)
      const asked = ask("PreToolUse", about, until)
      calls.set(callID, asked)
      if (calls.size > MOST_CALLS) calls.delete(calls.keys().next().value)
      if (name !== "AskUserQuestion") return // a command need not wait: its result comes later than what is said of it
      const { changed } = await asked
      if (Array.isArray(changed?.questions)) args.questions = changed.questions
    }),

    "tool.execute.after": quiet(async ({ callID }, output) => {
      const asked = calls.get(callID)
      calls.delete(callID)
      const { context } = (await asked) ?? {}
      if (context && typeof output.output === "string") output.output += `\n\n${context}`
    }),

    "experimental.session.compacting": quiet(async ({ sessionID }) => {
      compacting.add(sessionID) // the request that follows is a summary, into which nothing of ours belongs
      if (begun.has(sessionID)) ask("PreCompact", { session_id: sessionID })
    }),

    dispose: quiet(async () => {
      await soon(Promise.all(underway), LEAVING_MS)
      const ends = [...begun.keys()].map((session) => ask("SessionEnd", { session_id: session, reason: "exit" }))
      begun.clear()
      await soon(Promise.all(ends), LEAVING_MS)
    }),
  }
}

/** Asks the hook; what it says to the model and to the person, nothing where anything is wrong. */
function hook(command, event, payload, directory, most) {
  const nothing = { context: "", notice: "", changed: undefined }
  return new Promise((done) => {
    const [program, ...words] = command
    const child = spawn(program, [...words, event], {
      env: { ...process.env, HOLDFAST_HOST_PID: String(process.pid), HOLDFAST_PROJECT_DIR: directory },
      stdio: ["pipe", "pipe", "ignore"],
      windowsHide: true,
    })
    const late = setTimeout(() => {
      child.kill("SIGKILL")
      done(nothing)
    }, most)
    const chunks = []
    let size = 0
    child.stdout.on("data", (chunk) => (size += chunk.length) <= MOST_OUTPUT && chunks.push(chunk))
    child.on("error", () => (clearTimeout(late), done(nothing)))
    child.on("close", () => (clearTimeout(late), done(understood(chunks, size) ?? nothing)))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  }).catch(() => nothing)
}

function understood(chunks, size) {
  if (!size || size > MOST_OUTPUT) return undefined
  try {
    const said = JSON.parse(Buffer.concat(chunks).toString("utf8"))
    const inner = said.hookSpecificOutput ?? {}
    const context = text(inner.additionalContext)
    return {
      context: FENCED.test(context) ? context : "",
      notice: text(said.systemMessage).slice(0, 300),
      changed: inner.updatedInput,
    }
  } catch {
    return undefined
  }
}

/** What the person typed: not what OpenCode or a plugin added. `opencode run` puts it between quotes. */
function typed(parts) {
  const said = parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
  const words = said.map((part) => text(part.text)).join("\n").trim()
  const quoted = words.length > 1 && words.startsWith('"') && words.endsWith('"')
  return quoted ? words.slice(1, -1).replaceAll('\\"', '"') : words
}

function text(value) {
  return typeof value === "string" ? value : ""
}

/** A hook of OpenCode's that can fail without anybody noticing. */
function quiet(work) {
  return async (...given) => {
    try {
      await work(...given)
    } catch {}
  }
}

/** A promise's value, or undefined when it fails or is late. */
async function soon(promise, most) {
  let late
  const limit = new Promise((done) => (late = setTimeout(done, most)))
  try {
    return await Promise.race([promise, limit])
  } catch {
    return undefined
  } finally {
    clearTimeout(late)
  }
}
