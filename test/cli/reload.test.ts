/** SIGHUP makes `postern serve` read files again while it serves. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect } from "node:tls";
import { createAuthority } from "../../src/lib/certificates/x509.ts";
import { freePorts, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { askOver, protocols } from "../support/http-client.ts";
import { startOurAgent } from "../support/our-agent.ts";
import { startHttpService } from "../support/services.ts";

describe("postern serve that receives SIGHUP", { timeout: 60_000 }, () => {
  const data = mkdtempSync(join(tmpdir(), "postern-reload-"));
  const [certificate, key] = [join(data, "ca.pem"), join(data, "ca.key")];
  let server: Running;
  let facts: { readonly https_port: number; readonly agent_port: number; readonly authtoken: string };
  let firstCa: string;
  let current: Awaited<ReturnType<typeof createAuthority>>;

  before(async () => {
    server = startCommand(["serve", "--json", "--data", data, "--edges", "2", "--log-format", "json"], {
      env: freePorts,
    });
    facts = JSON.parse(await server.firstLine()) as typeof facts;
    firstCa = readFileSync(certificate, "utf8");
    current = await createAuthority({ commonName: "the CA of the operator", now: Date.now() });
  });
  after(async () => {
    await server.end();
    rmSync(data, { recursive: true });
  });

  /** Sends the signal and waits for a line of the log. */
  const reloaded = async (text: string): Promise<void> => {
    const seen = server.stderr().length;
    server.process.kill("SIGHUP");
    while (!server.stderr().slice(seen).includes(text)) {
      await once(server.process.stderr as NodeJS.ReadableStream, "data");
    }
  };
  /** Returns the issuer of the certificate at a port. */
  const issuerAt = async (port: number): Promise<string> => {
    const socket = connect({ port, host: "127.0.0.1", servername: "app.localhost", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const { issuer } = socket.getPeerCertificate();
    socket.destroy();
    return String(issuer.CN);
  };
  const bothShow = async (name: string): Promise<void> => {
    for (const port of [facts.https_port, facts.agent_port]) {
      assert.equal(
        await eventually(
          () => issuerAt(port),
          (issuer) => issuer === name,
        ),
        name,
      );
    }
  };

  it("a server that receives SIGHUP shows certificates of the replaced CA and keeps its agents", async (test) => {
    const service = await startHttpService((_request, response) => response.end("served"));
    test.after(() => service.stop());
    const agent = await startOurAgent(
      { port: facts.agent_port, ca: firstCa, token: facts.authtoken },
      { upstream: service.port, url: "https://app.localhost" },
    );
    test.after(() => agent.close());
    writeFileSync(certificate, current.certificatePem);
    writeFileSync(key, current.keyPem);
    await reloaded("read the CA again");
    await bothShow("the CA of the operator");
    for (const protocol of protocols) {
      const { status, text } = await askOver(protocol, facts.https_port, current.certificatePem, {
        host: "app.localhost",
      });
      assert.deepEqual([status, text], [200, "served"]);
    }
  });

  it("a server that receives SIGHUP keeps its CA and logs an error if the files are damaged, do not match or are missing", async () => {
    const other = await createAuthority({ commonName: "another CA", now: Date.now() });
    for (const [pem, text] of [
      ["-----BEGIN CERTIFICATE-----\nbroken\n-----END CERTIFICATE-----\n", "is not valid PEM"],
      [other.certificatePem, "is not the key of"],
    ] as const) {
      writeFileSync(certificate, pem);
      await reloaded(text);
      await bothShow("the CA of the operator");
    }
    rmSync(certificate);
    await reloaded("is missing: restore it");
    await bothShow("the CA of the operator");
    assert.match(server.stderr(), /"level":"error".*could not read the CA again: the previous one stays in use/);
  });

  it("a server that receives SIGHUP reads files that were repaired", async () => {
    writeFileSync(certificate, current.certificatePem);
    await reloaded("read the CA again");
    await bothShow("the CA of the operator");
  });
});
