import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { createServer } from "../../lib/http.ts";
import { openMetadataDocuments } from "./metadata-documents.ts";

const document = { client_name: "Client", redirect_uris: ["https://client.example.com/callback"] };

describe("a client's metadata document", () => {
  let respond: (response: ServerResponse, id: string) => void;
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    respond(response, `${origin()}${request.url}`);
  });
  const origin = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  before(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  after(() => void server.close());
  const send = (body: object, headers: Record<string, string> = {}, status = 200) => {
    respond = (response, client_id) =>
      void response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(JSON.stringify({ client_id, ...body }));
  };
  const open = (allowLocal = true) => {
    const clock = makeManualClock();
    return { clock, documents: openMetadataDocuments({ clock, allowLocal, ca: undefined }) };
  };

  it("I9: a client's metadata document is fetched once until it expires", async () => {
    const { clock, documents } = open();
    send(document, { "cache-control": "max-age=120" });
    const id = `${origin()}/cached.json`;
    const from = requests;
    const expected = { title: "Client", redirectUris: document.redirect_uris };
    const both = await Promise.all([documents.find("ac_1", id), documents.find("ac_1", id)]);
    assert.deepEqual(both, [expected, expected]);
    clock.pass(119_000);
    assert.deepEqual(await documents.find("ac_1", id), expected);
    assert.equal(requests - from, 1);
    clock.pass(2_000);
    await documents.find("ac_1", id);
    assert.equal(requests - from, 2);
    documents.close();
  });

  it("I9: a client's metadata document with faults is rejected", async () => {
    const { documents } = open();
    const faults: [what: string, body: object, headers?: Record<string, string>, status?: number][] = [
      ["another client", { ...document, client_id: "https://other.example/client.json" }],
      ["a secret", { ...document, client_secret: "s" }],
      ["a method", { ...document, token_endpoint_auth_method: "client_secret_basic" }],
      ["a script", { ...document, redirect_uris: ["javascript:alert(1)"] }],
      ["no redirect", { client_name: "Client" }],
      ["size", { ...document, filling: "x".repeat(9_000) }],
      ["a type", document, { "content-type": "text/html" }],
      ["a redirect", document, { location: `${origin()}/elsewhere.json` }, 302],
    ];
    for (const [at, [what, body, headers, status]] of faults.entries()) {
      send(body, headers, status);
      const from = requests;
      assert.equal(typeof (await documents.find("ac_1", `${origin()}/${at}.json`)), "string", what);
      assert.equal(requests - from, 1, `${what}: no redirect is followed`);
    }
    documents.close();
  });

  it("I7: a client's metadata document at a local address is never requested", async () => {
    const { documents } = open(false);
    send(document);
    const from = requests;
    const { port } = server.address() as AddressInfo;
    for (const id of [
      `${origin()}/client.json`,
      `https://127.0.0.1:${port}/client.json`,
      `https://localhost:${port}/client.json`,
      "https://169.254.169.254/latest",
      "https://[::1]/client.json",
      "https://user@client.example.com/client.json",
      "https://client.example.com/",
      "file:///etc/passwd",
    ]) {
      assert.equal(typeof (await documents.find("ac_1", id)), "string", id);
    }
    assert.equal(requests - from, 0);
    documents.close();
  });

  it("I9: a client's metadata document cannot use up the fetches of other accounts", async () => {
    const { documents } = open();
    const held: ServerResponse[] = [];
    const { promise: four, resolve } = Promise.withResolvers<void>();
    respond = (response) => void (held.push(response) === 4 && resolve());
    const slow = [1, 2, 3, 4].map((at) => documents.find("ac_1", `${origin()}/slow${at}.json`));
    await four;
    assert.equal(
      await documents.find("ac_1", `${origin()}/more.json`),
      "too many metadata documents are being fetched",
    );
    send(document);
    assert.equal(typeof (await documents.find("ac_2", `${origin()}/other.json`)), "object");
    for (const response of held) response.writeHead(500).end();
    await Promise.all(slow);
    documents.close();
  });
});
