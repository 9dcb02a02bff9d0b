/** The systemd unit of a server. `scripts/release/debian/postern.service` is this unit with the package's paths. */
import { quoteSystemd } from "./unit.ts";

export interface ServerUnitFacts {
  /** Program and first arguments that start Postern, as absolute paths. */
  readonly program: readonly string[];
  /** Configuration file, absolute. */
  readonly config: string;
  /** Data directory, absolute. Directly below `/var/lib`, systemd creates it and sets its mode. */
  readonly data: string;
}

export const serverUser = "postern";

/** systemd.service(5) and systemd.exec(5). */
export function serverUnit({ program, config, data }: ServerUnitFacts): string {
  const state = /^\/var\/lib\/([\w.-]+)$/.exec(data)?.[1];
  const storage =
    state === undefined ? `ReadWritePaths=${quoteSystemd(data)}` : `StateDirectory=${state}\nStateDirectoryMode=0700`;
  return `[Unit]
Description=Postern server
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
User=${serverUser}
Group=${serverUser}
ExecStart=${[...program, "serve", "--config", config].map(quoteSystemd).join(" ")}
# Reads the server's CA again and reopens the access log.
ExecReload=/bin/kill -HUP $MAINPID
# Settings of glibc's malloc that the server would otherwise start twice for.
Environment=MALLOC_TRIM_THRESHOLD_=131072 GLIBC_TUNABLES=glibc.malloc.tcache_count=1000
# The first start prints an API key and an agent token. They are stored in ${data} and must not reach the journal.
StandardOutput=null
StandardError=journal
Restart=on-failure
RestartSec=5
# Restarting does not fix wrong settings.
RestartPreventExitStatus=2
TimeoutStopSec=60
LimitNOFILE=1048576
${storage}
# For an access log in /var/log/postern.
LogsDirectory=postern
LogsDirectoryMode=0750
UMask=0077

# Ports below 1024 without root.
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=true
ProtectSystem=strict
ProtectHome=true
PrivateTmp=true
PrivateDevices=true
ProtectProc=invisible
ProtectHostname=true
ProtectClock=true
ProtectKernelTunables=true
ProtectKernelModules=true
ProtectKernelLogs=true
ProtectControlGroups=true
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=true
RestrictRealtime=true
RestrictSUIDSGID=true
LockPersonality=true
RemoveIPC=true
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}
