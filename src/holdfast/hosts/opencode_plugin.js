// The address that installed OpenCode configurations name. The plugin is in agents/opencode/.
export { default } from "../agents/opencode/opencode_plugin.js"
