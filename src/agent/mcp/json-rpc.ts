/** Messages of JSON-RPC 2.0, as MCP uses it. */

export type RpcId = string | number;

export interface RpcMessage {
  readonly jsonrpc: "2.0";
  readonly id?: RpcId;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A message that expects a response. */
export type RpcRequest = RpcMessage & { readonly id: RpcId; readonly method: string };

export const rpcCodes = { invalid: -32600, parse: -32700, internal: -32603, busy: -32000, noSession: -32001 } as const;

export function isRpcMessage(value: unknown): value is RpcMessage {
  if (typeof value !== "object" || value === null) return false;
  const { jsonrpc, id, method } = value as Record<string, unknown>;
  const hasId = typeof id === "string" || typeof id === "number";
  return jsonrpc === "2.0" && (id === undefined || id === null || hasId) && (typeof method === "string" || hasId);
}

export function isRequest(message: RpcMessage): message is RpcRequest {
  return message.method !== undefined && message.id !== undefined;
}

export function rpcError(id: RpcId | null, code: number, message: string): object {
  return { jsonrpc: "2.0", id, error: { code, message } };
}
