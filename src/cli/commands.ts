import type { Command, CommandEntry } from "./command/command.ts";

/** The commands in the order of the help. Each module is loaded when its command is needed. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  dev: {
    doc: "Run everything on this machine, with a public URL for a local port.",
    load: async () => (await import("./commands/dev.ts")).dev as Command,
  },
  up: {
    doc: "Set up a public server on this machine.",
    load: async () => (await import("./commands/up.ts")).up as Command,
  },
  serve: {
    doc: "Run the server: management API, edge and agent listener.",
    load: async () => (await import("./commands/serve.ts")).serve as Command,
  },
  status: {
    doc: "Show the state of the server on one screen.",
    load: async () => (await import("./commands/status.ts")).status as Command,
  },
  health: {
    doc: "Ask the server on this machine whether it is ready for traffic.",
    load: async () => (await import("./commands/health.ts")).health as Command,
  },
  console: {
    doc: "Print a link to the console that logs in once.",
    load: async () => (await import("./commands/console.ts")).consoleCommand as Command,
  },
  http: {
    doc: "Publish a local HTTP service through a server.",
    load: async () => (await import("./commands/http.ts")).http as Command,
  },
  tcp: {
    doc: "Publish a local TCP service through a server.",
    load: async () => (await import("./commands/tcp.ts")).tcp as Command,
  },
  tls: {
    doc: "Publish a local TLS service through a server, without decrypting it.",
    load: async () => (await import("./commands/tls.ts")).tls as Command,
  },
  start: {
    doc: "Publish services from an agent file in one session.",
    load: async () => (await import("./commands/start.ts")).start as Command,
  },
  join: {
    doc: "Connect this machine to a server with a code.",
    load: async () => (await import("./commands/join.ts")).join as Command,
  },
  login: {
    doc: "Test and store a server and a token for later commands.",
    load: async () => (await import("./commands/login.ts")).login as Command,
  },
  diagnose: {
    doc: "Test the connection to the server step by step.",
    load: async () => (await import("./commands/diagnose.ts")).diagnose as Command,
  },
  "config init": {
    doc: "Write an agent file with a commented example.",
    load: async () => (await import("./commands/config-init.ts")).configInit as Command,
  },
  "config check": {
    doc: "Check the agent file for errors.",
    load: async () => (await import("./commands/config-check.ts")).configCheck as Command,
  },
  "config edit": {
    doc: "Open the agent file in an editor, and check it.",
    load: async () => (await import("./commands/config-edit.ts")).configEdit as Command,
  },
  "config add-authtoken": {
    doc: "Store an agent token in the agent file.",
    load: async () => (await import("./commands/config-add-authtoken.ts")).configAddAuthtoken as Command,
  },
  "config upgrade": {
    doc: "Convert an agent file to another format.",
    load: async () => (await import("./commands/config-upgrade.ts")).configUpgrade as Command,
  },
  "agent status": {
    doc: "Print whether the local agent is online.",
    load: async () => (await import("./commands/agent-status.ts")).agentStatus as Command,
  },
  "agent tunnels": {
    doc: "List the tunnels of the local agent.",
    load: async () => (await import("./commands/agent-tunnels.ts")).agentTunnels as Command,
  },
  "agent add": {
    doc: "Publish another service with the local agent.",
    load: async () => (await import("./commands/agent-add.ts")).agentAdd as Command,
  },
  "agent remove": {
    doc: "Remove a tunnel from the local agent.",
    load: async () => (await import("./commands/agent-remove.ts")).agentRemove as Command,
  },
  "agent stop": {
    doc: "Stop the local agent.",
    load: async () => (await import("./commands/agent-stop.ts")).agentStop as Command,
  },
  "requests list": {
    doc: "List recent and captured requests.",
    load: async () => (await import("./commands/requests-list.ts")).requestsList as Command,
  },
  "requests tail": {
    doc: "Print requests as they end.",
    load: async () => (await import("./commands/requests-tail.ts")).requestsTail as Command,
  },
  "requests export": {
    doc: "Write captured requests to the standard output.",
    load: async () => (await import("./commands/requests-export.ts")).requestsExport as Command,
  },
  "inbox list": {
    doc: "List the webhooks in inboxes.",
    load: async () => (await import("./commands/inbox-list.ts")).inboxList as Command,
  },
  "inbox show": {
    doc: "Show a webhook of an inbox.",
    load: async () => (await import("./commands/inbox-show.ts")).inboxShow as Command,
  },
  "inbox deliver": {
    doc: "Deliver webhooks of inboxes now.",
    load: async () => (await import("./commands/inbox-change.ts")).inboxDeliver as Command,
  },
  "inbox discard": {
    doc: "Discard webhooks of inboxes.",
    load: async () => (await import("./commands/inbox-change.ts")).inboxDiscard as Command,
  },
  "inbox pause": {
    doc: "Pause the deliveries of an inbox.",
    load: async () => (await import("./commands/inbox-pause.ts")).inboxPause as Command,
  },
  "inbox resume": {
    doc: "Resume the deliveries of an inbox.",
    load: async () => (await import("./commands/inbox-pause.ts")).inboxResume as Command,
  },
  "inbox tail": {
    doc: "Print webhooks as inboxes receive them.",
    load: async () => (await import("./commands/inbox-tail.ts")).inboxTail as Command,
  },
  service: {
    doc: "Run the agent as a system service.",
    load: async () => (await import("./commands/service.ts")).service as Command,
  },
  ca: {
    doc: "Print the development CA and how to trust it.",
    load: async () => (await import("./commands/ca.ts")).ca as Command,
  },
  doctor: {
    doc: "Check names, certificates and addresses for visitors' logins.",
    load: async () => (await import("./commands/doctor.ts")).doctor as Command,
  },
  invite: {
    doc: "Create a code with which another machine joins as an agent.",
    load: async () => (await import("./commands/invite.ts")).invite as Command,
  },
  "people invite": {
    doc: "Create a link with which a person gets access to the console.",
    load: async () => (await import("./commands/people-invite.ts")).peopleInvite as Command,
  },
  "account create": {
    doc: "Create an account with an API key.",
    load: async () => (await import("./commands/account-create.ts")).accountCreate as Command,
  },
  explain: {
    doc: "Explain what an edge would do with a request, and why.",
    load: async () => (await import("./commands/explain.ts")).explain as Command,
  },
  chaos: {
    doc: "Stop nodes of a staging cluster under load, and count failed requests.",
    load: async () => (await import("./commands/chaos.ts")).chaos as Command,
  },
  "webhook send": {
    doc: "Send a sample webhook with the provider's signature.",
    load: async () => (await import("./commands/webhook-send.ts")).webhookSend as Command,
  },
  mcp: {
    doc: "Let an assistant inspect the server: an MCP server on standard input and output.",
    load: async () => (await import("./commands/mcp.ts")).mcp as Command,
  },
  "policy check": {
    doc: "Check a traffic policy for errors.",
    load: async () => (await import("./commands/policy-check.ts")).policyCheck as unknown as Command,
  },
  "policy test": {
    doc: "Run the test cases of a traffic policy.",
    load: async () => (await import("./commands/policy-test.ts")).policyTest as unknown as Command,
  },
  "policy explain": {
    doc: "Explain what a traffic policy in a file does with a request.",
    load: async () => (await import("./commands/policy-explain.ts")).policyExplain as unknown as Command,
  },
  "policy fmt": {
    doc: "Format traffic policies, and keep comments.",
    load: async () => (await import("./commands/policy-fmt.ts")).policyFmt as unknown as Command,
  },
  "policy schema": {
    doc: "Print the JSON Schema of traffic policies.",
    load: async () => (await import("./commands/policy-schema.ts")).policySchema as unknown as Command,
  },
  api: {
    doc: "Call one operation of the management API.",
    load: async (args) => (await import("./commands/api.ts")).apiCommand(args),
  },
  completion: {
    doc: "Print a shell script that completes commands and options.",
    load: async () => (await import("./commands/completion.ts")).completionOf(commands),
  },
  plan: {
    doc: "Print the changes that a document would make.",
    load: async () => (await import("./commands/plan.ts")).plan as Command,
  },
  backtest: {
    doc: "Try a document on captured requests, without changing anything.",
    load: async () => (await import("./commands/backtest.ts")).backtest as Command,
  },
  apply: {
    doc: "Change the account's objects to match a document.",
    load: async () => (await import("./commands/apply.ts")).apply as Command,
  },
  export: {
    doc: "Write the account's objects to a document.",
    load: async () => (await import("./commands/export.ts")).exportCommand as Command,
  },
  import: {
    doc: "Convert the configuration of another program to a document and an agent file.",
    load: async () => (await import("./commands/import.ts")).importCommand as Command,
  },
  "import certificates": {
    doc: "Upload the certificates of another program.",
    load: async () => (await import("./commands/import-certificates.ts")).importCertificates as Command,
  },
  migrate: {
    doc: "Move all data to another database.",
    load: async () => (await import("./commands/migrate.ts")).migrate as Command,
  },
  version: {
    doc: "Print the version.",
    load: async () => (await import("./commands/version.ts")).version as Command,
  },
};
