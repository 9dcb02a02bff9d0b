/** Time from the call that ends a session, and from its response, until a request with that session is rejected. */
import { readFileSync } from "node:fs";
import { openBrowser } from "../test/support/browser.ts";
import { startOAuthProviders } from "../test/support/oauth-providers.ts";
import { startLoginServer } from "./support/login-server.ts";
import { quantile, verdict } from "./support/report.ts";
import { client } from "./support/requests.ts";

const turns = 100;

const providers = await startOAuthProviders();
const { server, call, url, stopService } = await startLoginServer(providers.baseUrl);
const ca = readFileSync(server.caFile, "utf8");
const http = client({ name: "login", port: server.httpsPort, serverName: "login.localhost" }, 1);
/** Milliseconds from the call, and from its response, to the sending of the first rejected request. */
const [ofCall, ofAnswer]: [number[], number[]] = [[], []];
for (let turn = 0; turn < turns; turn += 1) {
  const browser = openBrowser({ ca });
  const { status, text } = await browser.visit(url("login"));
  if (status !== 200) throw new Error(`log in: ${status} ${text}`);
  const headers = { host: "login.localhost", accept: "application/json", cookie: browser.cookies(url("login")) };
  /** Open requests are cut off when their session ends. */
  const isAdmitted = (): Promise<boolean> =>
    http.send({ path: "/", headers }).then(
      ({ response }) => response.statusCode === 200,
      () => false,
    );
  if (!(await isAdmitted())) throw new Error("the session is refused");
  const { application_sessions: found } = await call<{ application_sessions: { id: string }[] }>(
    "GET",
    "/app/sessions?limit=1",
  );
  const began = performance.now();
  const answer = call("DELETE", `/app/sessions/${found[0]?.id}`).then(() => performance.now());
  let sent = began;
  while (await isAdmitted()) sent = performance.now();
  ofCall.push(sent - began);
  ofAnswer.push(Math.max(0, sent - (await answer)));
}
const show = (name: string, took: readonly number[]): void => {
  process.stdout.write(
    `  ${name}  p50 ${quantile(took, 0.5).toFixed(2)} ms  p99 ${quantile(took, 0.99).toFixed(2)} ms\n`,
  );
};
process.stdout.write("\nUntil a session that is ended is refused\n");
show("from the call  ", ofCall);
show("from its answer", ofAnswer);
verdict("ms from the answer, p50", quantile(ofAnswer, 0.5), { atMost: 5 });
http.close();
await server.stop();
await stopService();
await providers.stop();
