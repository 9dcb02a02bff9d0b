/** The certificate of the agent listener, for agents that connect by the operator's names and addresses. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { isIP } from "node:net";
import { describe, it } from "node:test";
import { checkServerIdentity, connect } from "node:tls";
import { startTestEdge } from "../support/edge.ts";

describe("the agent listener's certificate", () => {
  it("the agent listener's certificate contains every host of --agent-address and the host of --agent-listen", async () => {
    const agentAddress = [
      { host: "agents.example.com", port: 443 },
      { host: "192.0.2.80", port: 4443 },
      { host: "2001:db8::80", port: 4443 },
    ];
    const fixture = await startTestEdge([], { agentAddress, agentListen: { host: "127.0.0.9", port: 0 } });
    const { host, port } = fixture.edge.agent;
    for (const name of ["agents.example.com", "192.0.2.80", "2001:db8::80", "127.0.0.9", "apps.example.com"]) {
      // An agent that connects to an address sends no server name, and verifies the address.
      const isAddress = isIP(name) !== 0;
      const socket = connect({
        host,
        port,
        ca: fixture.authority.certificatePem,
        ...(isAddress ? {} : { servername: name }),
        checkServerIdentity: (_asked, certificate) => checkServerIdentity(name, certificate),
      });
      await once(socket, "secureConnect");
      socket.destroy();
    }
    await fixture.edge.stop();
  });

  it("the agent listener's certificate has no unspecified address", async () => {
    const fixture = await startTestEdge([], { agentListen: { host: "0.0.0.0", port: 0 } });
    const socket = connect({ host: "127.0.0.1", port: fixture.edge.agent.port, ca: fixture.authority.certificatePem });
    await once(socket, "secureConnect");
    assert.doesNotMatch(socket.getPeerX509Certificate()?.subjectAltName ?? "", /0\.0\.0\.0/);
    socket.destroy();
    await fixture.edge.stop();
  });
});
