/** Path of an MCP server that the agent itself bridges to HTTP. */
export const bridgePath = "/mcp";
