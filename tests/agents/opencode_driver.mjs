// Loads the plugin as OpenCode does and makes the calls that standard input lists; prints what became of each.
import { readFileSync } from "node:fs"

const { plugin, options, directory, parents, hangs, steps } = JSON.parse(readFileSync(0, "utf8"))
const toasts = []
const client = {
  session: {
    get: async ({ path }) => {
      if (hangs) await new Promise((done) => setTimeout(done, 60_000).unref())
      if (!(path.id in parents)) throw new Error("no such session")
      return { data: { id: path.id, parentID: parents[path.id] } }
    },
  },
  tui: { showToast: async ({ body }) => toasts.push(body.message) },
}
process.on("unhandledRejection", (error) => {
  console.error("UNHANDLED", error)
  process.exit(3)
})
const { default: module } = await import(plugin)
const hooks = await module.server({ client, directory, worktree: directory }, options)
const results = []
for (const step of steps) {
  const began = performance.now()
  if (step.wait) await new Promise((done) => setTimeout(done, step.wait))
  else await hooks[step.hook]?.(step.input, step.output)
  results.push({ output: step.output, ms: performance.now() - began })
}
console.log(JSON.stringify({ id: module.id, hooks: Object.keys(hooks), results, toasts }))
