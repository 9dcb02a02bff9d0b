/**
 * Starts a server with two hosts in front of one service: `bare.localhost`, and `login.localhost` with a GitHub login.
 */
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clientId, clientSecret } from "../../test/support/oauth-providers.ts";
import { api } from "./api-client.ts";
import { startServer, startService } from "./postern.ts";
import { stop } from "./system.ts";

/** @param baseUrl URL of the providers of `test/support/oauth-providers.ts` */
export async function startLoginServer(baseUrl: string) {
  const apps = join(mkdtempSync(join(tmpdir(), "postern-bench-")), "apps.yml");
  writeFileSync(
    apps,
    JSON.stringify({ github: { client_id: clientId, client_secret: clientSecret, base_url: baseUrl } }),
  );
  chmodSync(apps, 0o600);
  process.env["POSTERN_OAUTH_APPS"] = apps;
  process.env["POSTERN_ALLOW_LOCAL_UPSTREAMS"] = "true";
  const service = await startService();
  const server = await startServer();
  const call = <T>(method: string, path: string, body?: unknown): Promise<T> =>
    api<T>(server.apiUrl, method, path, body);
  const backend = await call<{ id: string }>("POST", "/backends/static", { address: `127.0.0.1:${service.port}` });
  for (const [host, modules] of [
    ["bare", {}],
    ["login", { oauth: { provider: { github: {} }, machine_clients: { enabled: true } } }],
  ] as const) {
    const edge = await call<{ id: string }>("POST", "/edges/https", { hostports: [`${host}.localhost:443`] });
    const route = { match_type: "path_prefix", match: "/", backend: { backend_id: backend.id } };
    await call("POST", `/edges/https/${edge.id}/routes`, { ...route, ...modules });
  }
  return {
    server,
    call,
    url: (host: "bare" | "login"): string => `https://${host}.localhost:${server.httpsPort}/`,
    stopService: () => stop(service.child),
  };
}
