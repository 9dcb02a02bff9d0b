/** Writes the files with which a system runs an agent as a service: a systemd unit, or a property list for launchd. */

export interface ServiceFacts {
  /** Program and first arguments that start Postern, absolute paths. */
  readonly program: readonly string[];
  /** Agent files, absolute paths. */
  readonly config: readonly string[];
  /** User of the process; undefined for a service of the installing user. */
  readonly user: string | undefined;
  /** Log file on systems without their own service log. */
  readonly logFile: string;
}

/** Returns the service's command, which publishes everything in its files. */
function commandOf({ program, config }: ServiceFacts): readonly string[] {
  return [...program, "start", "--all", ...config.flatMap((path) => ["--config", path])];
}

/** systemd.service(5) and systemd.exec(5). */
export function systemdUnit(facts: ServiceFacts): string {
  const { user } = facts;
  return `[Unit]
Description=Postern agent
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${commandOf(facts).map(quoteSystemd).join(" ")}
${user === undefined ? "" : `User=${user}\n`}Restart=always
RestartSec=5
# A wrong file does not mend itself.
RestartPreventExitStatus=2 3
KillSignal=SIGTERM
TimeoutStopSec=30
NoNewPrivileges=true
${user === undefined ? "" : hardened}
[Install]
WantedBy=${user === undefined ? "default.target" : "multi-user.target"}
`;
}

/** Restrictions that do not affect an agent. The kernel may not allow all of them for users' own services. */
const hardened = `ProtectSystem=strict
ProtectKernelTunables=true
ProtectKernelModules=true
ProtectControlGroups=true
PrivateTmp=true
PrivateDevices=true
RestrictSUIDSGID=true
RestrictRealtime=true
LockPersonality=true
`;

/** Quotes a word of ExecStart, in which systemd would replace `%` and `$`. */
export function quoteSystemd(word: string): string {
  const plain = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w./:@%+=$,-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, "\\$&")}"`;
}

export const launchdLabel = "dev.postern.agent";

/** launchd.plist(5). */
export function launchdPlist(facts: ServiceFacts): string {
  const strings = (list: readonly string[]): string =>
    list.map((one) => `    <string>${escapeXml(one)}</string>`).join("\n");
  const user = facts.user === undefined ? "" : `  <key>UserName</key>\n  <string>${escapeXml(facts.user)}</string>\n`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${launchdLabel}</string>
${user}  <key>ProgramArguments</key>
  <array>
${strings(commandOf(facts))}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>5</integer>
  <key>StandardErrorPath</key>
  <string>${escapeXml(facts.logFile)}</string>
</dict>
</plist>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
