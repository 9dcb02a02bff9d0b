/** The management API as a separate process, for tests that kill it. Arguments: database, API key. Prints its port. */
import { writeSync } from "node:fs";
import { urlOf } from "../../bin/bundled.ts";
import type { startControlPlane as startControlPlaneOf } from "../../src/api/control-plane.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { controlPlaneSettings } from "../../src/settings/control-plane.ts";
import { defaultsOf } from "../../src/settings/setting.ts";

/** Starts like a user's server: from the bundle, if it matches the sources. */
const { startControlPlane } = (await import(urlOf("src/api/control-plane.ts"))) as {
  readonly startControlPlane: typeof startControlPlaneOf;
};

const [database, apiKey] = process.argv.slice(2) as [string, string];
const plane = await startControlPlane(
  {
    ...defaultsOf(controlPlaneSettings),
    apiListen: { host: "127.0.0.1", port: 0 },
    database,
    data: "/",
    sealingKey: Buffer.alloc(32, 7),
    domain: "postern.test",
    clock: systemClock,
    log: silentLog,
    bootstrap: { apiKey },
  },
  [{ send: () => undefined, receive: () => undefined }],
);
writeSync(1, `${plane.address.port}\n`);
