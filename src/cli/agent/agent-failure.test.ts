/** Tests the messages that explain to the user why an agent ended. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { agentFailure } from "./agent-failure.ts";

it("an untrusted certificate is explained by its cause: an unknown CA, or a name that is not in the certificate", () => {
  const sentence = (message: string): string =>
    agentFailure({ reason: "untrusted", message }, { host: "192.0.2.1", port: 4443 }).message;
  assert.match(sentence("unable to get local issuer certificate"), /is not trusted \(.+\): set its CA with --ca FILE$/);
  assert.match(
    sentence("Hostname/IP does not match certificate's altnames: IP: 192.0.2.1 is not in the cert's list: 127.0.0.1"),
    /is for other names than 192\.0\.2\.1 \(.+127\.0\.0\.1\): connect by one of its names$/,
  );
});
