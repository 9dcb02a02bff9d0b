import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { systemClock } from "../../lib/clock.ts";
import { createServer } from "../../lib/http.ts";
import { createAuthority, issueLeaf } from "../../lib/certificates/x509.ts";
import { makeFetches } from "./fetch.ts";
import type { Fetches } from "./fetch.ts";
import { LoginRefusal } from "./identity.ts";

interface Told {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const good = '{"access_token":"at"}';

describe("a call to a provider", () => {
  let told: Told;
  let url: string;
  let fetches: Fetches;
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const { status = 200, headers = {}, body = good } = request.url === "/" ? told : {};
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
  });
  before(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    fetches = makeFetches({ clock: systemClock, allowLocal: true, ca: undefined });
  });
  after(() => {
    fetches.close();
    server.closeAllConnections();
    server.close();
  });
  /** Runs both kinds of call. Each answer is acceptable except for the tested change. */
  const outcomes = async (answer: Told): Promise<string[]> => {
    told = answer;
    const provider = fetches.to("provider", false);
    const calls = [provider.get(url), provider.post(url, { client_secret: "s" })];
    return await Promise.all(
      calls.map((call) =>
        call.then(
          ({ json }) => String(json["access_token"]),
          (error: unknown) => (error instanceof LoginRefusal ? error.reason : String(error)),
        ),
      ),
    );
  };
  const all = (name: string): string[] => [name, name];

  it("I7: a call to a provider accepts certificates of the operator's or the system's authorities, and no others", async () => {
    const now = Date.now();
    const authority = await createAuthority({ commonName: "A CA of providers", now });
    const leaf = await issueLeaf(authority, { names: ["localhost"], days: 1, now });
    const secure = createTlsServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (_request, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(good),
    );
    await once(secure.listen(0, "127.0.0.1"), "listening");
    const at = `https://localhost:${(secure.address() as AddressInfo).port}/`;
    const other = await createAuthority({ commonName: "Another", now });
    try {
      for (const [ca, isTaken] of [
        [authority.certificatePem, true],
        [other.certificatePem, false],
        [undefined, false],
      ] as const) {
        const own = makeFetches({ clock: systemClock, allowLocal: true, ca });
        const asking = own.to("provider", false).get(at);
        if (isTaken) assert.equal((await asking).json["access_token"], "at");
        else
          await assert.rejects(
            asking,
            (error) => error instanceof LoginRefusal && error.reason === "login_unreachable",
          );
        own.close();
      }
    } finally {
      secure.closeAllConnections();
      secure.close();
    }
  });

  it("I7: a call to a provider accepts JSON, and nothing that only resembles it", async () => {
    for (const type of [
      "application/json",
      "application/json; charset=utf-8",
      "text/javascript",
      "application/x+json",
      "text/plain; charset=utf-8",
      "application/octet-stream",
      "",
    ]) {
      assert.deepEqual(await outcomes({ headers: { "content-type": type } }), all("at"), type);
    }
    for (const type of ["text/html", "application/jsonp", "text/plainer", "application/x-www-form-urlencoded"]) {
      assert.deepEqual(await outcomes({ headers: { "content-type": type } }), all("login_exchange_failed"), type);
    }
    for (const body of ["", "at", '{"access_token":"at"', '{"access_token":"a","access_token":"at"}', "[1]x"]) {
      assert.deepEqual(await outcomes({ body }), all("login_exchange_failed"), body);
    }
  });

  it("I7: a call to a provider decodes no content coding, and requests none", async () => {
    assert.deepEqual(await outcomes({ headers: { "content-encoding": "identity" } }), all("at"));
    for (const coding of ["br", "gzip", "deflate", "zstd", "identity, gzip"]) {
      const headers = { "content-encoding": coding };
      assert.deepEqual(await outcomes({ headers }), all("login_exchange_failed"), coding);
    }
  });

  it("I7: a call to a provider follows no redirect, and treats a redirect as a failure", async () => {
    for (const status of [300, 301, 302, 303, 307, 308]) {
      const headers = { location: `${url}elsewhere` };
      assert.deepEqual(await outcomes({ status, headers }), all("login_exchange_failed"), String(status));
    }
    assert.ok(!asked.some((one) => one.includes("elsewhere")));
  });

  it("a call to a provider maps the status to the meaning for a login", async () => {
    for (const [status, name] of [
      [429, "login_throttled"],
      [500, "login_provider_down"],
      [502, "login_provider_down"],
      [503, "login_busy"],
    ] as const) {
      assert.deepEqual(await outcomes({ status }), all(name), String(status));
    }
  });

  it("I7: a call to a provider accepts up to 64 KiB of a token response and 1 MiB of any other", async () => {
    const long = (bytes: number): Told => ({ body: `{"access_token":"at","x":"${"x".repeat(bytes)}"}` });
    assert.deepEqual(await outcomes(long(65_000)), all("at"));
    assert.deepEqual(await outcomes(long(66_000)), ["at", "login_unreachable"]);
    assert.deepEqual(await outcomes(long(1_048_576)), all("login_unreachable"));
  });
});
