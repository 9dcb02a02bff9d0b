import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { WebSocketServer } from "ws";
import { startHttpService, startTcpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { eventually } from "../support/eventually.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { skipWithout } from "../support/programs.ts";
import { makeSshClients } from "../support/ssh-clients.ts";
import type { SshClients, SshKey } from "../support/ssh-clients.ts";
import { makeSecurityKey, securityKeyTypes } from "../support/security-key.ts";
import type { SecurityKey } from "../support/security-key.ts";
import { openWebSocket, opcodes } from "../support/websocket.ts";

const domain = "t.example.com";
const run = promisify(execFile);

/** A client of Paramiko that answers no request for a visitor's channel. */
const unconfirmed = `
table = dict(transport._handler_table)
table[90] = lambda self, m: print("asked", flush=True)
transport._handler_table = table
forward("unconfirmed", 80, 1)
`;

/** Logins of Paramiko with a security key: without and with the presence of the user. */
function securityKeyLogins(port: number, { type, blob, pem }: SecurityKey): string {
  return `
import hashlib, struct
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.serialization import load_pem_private_key
private = load_pem_private_key(${JSON.stringify(pem)}.encode(), None)
digest = lambda data: hashlib.sha256(data).digest()

class SecurityKey(paramiko.PKey):
    public_blob = None
    def __init__(self, flags): self.flags = flags
    def get_name(self): return "${type}"
    def asbytes(self): return bytes.fromhex("${blob.toString("hex")}")
    def sign_ssh_data(self, data, algorithm=None):
        tail = bytes([self.flags]) + struct.pack(">I", 7)
        signed = digest(b"ssh:") + tail + digest(data)
        if isinstance(private, ec.EllipticCurvePrivateKey):
            pair = paramiko.Message()
            for number in utils.decode_dss_signature(private.sign(signed, ec.ECDSA(hashes.SHA256()))): pair.add_mpint(number)
            value = pair.asbytes()
        else: value = private.sign(signed)
        message = paramiko.Message()
        message.add_string("${type}")
        message.add_string(value)
        message.add_bytes(tail)
        return message

for flags in (4, 1):
    other = paramiko.Transport(("127.0.0.1", ${port}))
    try:
        other.connect(username="me", pkey=SecurityKey(flags))
        print("flags", flags, "accepted", flush=True)
    except paramiko.AuthenticationException: print("flags", flags, "refused", flush=True)
    other.close()
`;
}

describe("ssh", { skip: skipWithout("ssh", "ssh-keygen") }, () => {
  let platform: TestPlatform;
  let clients: SshClients;
  let service: HttpService;
  let key: SshKey;
  let port: number;
  let received = 0;

  const credential = async (fields: object): Promise<string> => {
    const { status, body } = await platform.api("POST", "/ssh_credentials", fields);
    assert.equal(status, 201, JSON.stringify(body));
    return body.id as string;
  };
  const forward = (name: string): readonly string[] => ["-R", `${name}:80:127.0.0.1:${service.port}`, "127.0.0.1"];
  const url = (name: string, path = "/"): string => `https://${name}.${domain}:${platform.httpsPort}${path}`;
  const publish = async (name: string, ...words: readonly string[]) => {
    const client = clients.openssh(port, key, ...forward(name), ...words);
    await client.says(`${name}.${domain}`);
    return client;
  };

  before(async () => {
    platform = await startPlatform({ domain, sshListen: { host: "127.0.0.1", port: 0 }, drainMs: 500 }, 1);
    port = platform.sshPort as number;
    clients = makeSshClients();
    service = await startHttpService((request, response) => {
      received += 1;
      const hash = createHash("sha256");
      request.on("data", (bytes: Buffer) => hash.update(bytes));
      request.on("end", () => {
        if (request.url === "/large") response.end(Buffer.alloc(5_000_000, 1));
        else response.end(`${request.method} ${request.url} ${hash.digest("hex")}`);
      });
    });
    new WebSocketServer({ server: service.server }).on("connection", (socket) =>
      socket.on("message", (data: Buffer) => socket.send(data)),
    );
    key = clients.makeKey("user");
    await credential({ public_key: key.line, description: "test" });
  });
  after(async () => {
    await clients?.stop();
    await service?.stop();
    await platform?.stop();
  });

  it("a service that OpenSSH publishes is reached by its URL, and the terminal lists the request", async () => {
    const client = await publish("first");
    const { status, text } = await platform.request(url("first", "/path?a=1"));
    assert.equal(status, 200);
    assert.match(text, /^GET \/path\?a=1 /);
    const said = await client.says(/GET/);
    assert.match(said, /^Published https:\/\/first\.t\.example\.com(:\d+)?\nGET \/path\?a=1 200 \d+ ms\n$/);
    await client.stop();
    await eventually(
      () => platform.request(url("first")),
      (answer) => answer.status === 404,
    );
  });

  it("large bodies pass in both directions, and a WebSocket works", async () => {
    const client = await publish("large");
    const body = randomBytes(3_000_000);
    const sent = await platform.request(url("large", "/sent"), { method: "POST", body });
    assert.equal(sent.text, `POST /sent ${createHash("sha256").update(body).digest("hex")}`);
    const { text } = await platform.request(url("large", "/large"));
    assert.equal(text.length, 5_000_000);
    const visitor = { connect: () => platform.connect(`large.${domain}`) };
    const socket = await openWebSocket(visitor, "h1", { host: `large.${domain}` });
    socket.send(opcodes.text, "hello");
    assert.equal((await socket.next()).payload.toString(), "hello");
    socket.destroy();
    await client.stop();
  });

  it("one connection publishes several services, with JSON output and an exit without the terminal", async () => {
    const tcp = await startTcpService((socket) => socket.end("tcp service"));
    const client = clients.openssh(
      port,
      key,
      "-R",
      `one:80:127.0.0.1:${service.port}`,
      "-R",
      `two:80:127.0.0.1:${service.port}`,
      "127.0.0.1",
      "http",
      "--json",
    );
    await client.says(/one[^]*two|two[^]*one/);
    const lines = client.stdout.trim().split("\n");
    const published = lines.map((line) => JSON.parse(line) as { readonly type: string; readonly port: number });
    assert.deepEqual(
      published.map(({ type, port: remote }) => [type, remote]),
      [
        ["published", 80],
        ["published", 80],
      ],
    );
    for (const name of ["one", "two"]) assert.equal((await platform.request(url(name))).status, 200);
    const other = clients.openssh(port, key, "-R", `0:127.0.0.1:${tcp.port}`, "127.0.0.1", "tcp");
    const [, remote] = /tcp:\/\/t\.example\.com:(\d+)/.exec(await other.says(/tcp:\S+\n/)) ?? [];
    const visitor = connect(Number(remote), "127.0.0.1");
    const [bytes] = (await once(visitor, "data")) as [Buffer];
    assert.equal(bytes.toString(), "tcp service");
    visitor.destroy();
    await Promise.all([client.stop(), other.stop()]);
    await tcp.stop();
  });

  it("a client without a terminal (-N) publishes under a generated name", async () => {
    const client = clients.openssh(port, key, "-N", "-R", `0:127.0.0.1:${service.port}`, "127.0.0.1");
    await eventually(
      () => client.stderr,
      (text) => text.includes("Allocated port"),
    );
    const { body } = await platform.api("GET", "/endpoints");
    const { public_url: found } = body.endpoints.at(-1) as { readonly public_url: string };
    assert.equal((await platform.request(found)).status, 200);
    await client.stop();
  });

  it("the session is listed as an agent, with the version of the client", async () => {
    const client = await publish("listed");
    const { body } = await platform.api("GET", "/tunnel_sessions");
    const session = body.tunnel_sessions.at(-1);
    assert.equal(session.transport, "ssh");
    assert.match(session.agent_version, /^ssh OpenSSH_/);
    assert.equal(session.ip, "127.0.0.1");
    const { text } = await platform.api("GET", "/metrics");
    assert.match(text, /^postern_ssh_sessions [1-9]/m);
    await client.stop();
  });

  it("H1: a client with an unknown key gets no session, and reads the fingerprint and how to add the key", async () => {
    const other = clients.makeKey("unknown", "ecdsa");
    const client = clients.openssh(port, other, ...forward("stolen"));
    assert.equal(await client.ended, 255);
    assert.ok(client.stderr.includes(`This server does not know the key ${other.fingerprint}`), client.stderr);
    assert.match(client.stderr, /POST \/ssh_credentials[^]*Permission denied \(publickey\)/);
  });

  it("H1: clients without a key are not asked for a password", async () => {
    const client = clients.openssh(port, key, "-o", "PubkeyAuthentication=no", "127.0.0.1");
    assert.equal(await client.ended, 255);
    assert.match(client.stderr, /Permission denied \(publickey\)/);
  });

  for (const [type, bits] of [
    ["rsa", 3072],
    ["ecdsa", 256],
    ["ecdsa", 384],
    ["ecdsa", 521],
  ] as const) {
    it(`a key of the type ${type} with ${bits} bits is accepted`, async () => {
      const made = clients.makeKey(`${type}-${bits}`, type, bits);
      await credential({ public_key: made.line });
      const name = `type-${type}-${bits}`;
      const client = clients.openssh(port, made, ...forward(name));
      await client.says(name);
      assert.equal((await platform.request(url(name))).status, 200);
      await client.stop();
    });
  }

  it("H2: the end of a key, or of its owner's activity, ends its connections", async () => {
    const made = clients.makeKey("revoked");
    const id = await credential({ public_key: made.line });
    const client = clients.openssh(port, made, ...forward("revoked"));
    await client.says("revoked");
    await platform.api("DELETE", `/ssh_credentials/${id}`);
    assert.notEqual(await client.ended, 0);
    assert.match(client.stderr, /its SSH key was removed/);
    assert.equal((await platform.request(url("revoked"))).status, 404);

    const { body: owner } = await platform.api("POST", "/bot_users", { name: "deploy" });
    await credential({ public_key: made.line, owner_id: owner.id });
    const owned = clients.openssh(port, made, ...forward("owned"));
    await owned.says("owned");
    await platform.api("PATCH", `/bot_users/${owner.id}`, { active: false });
    assert.notEqual(await owned.ended, 0);
    const again = clients.openssh(port, made, ...forward("owned"));
    assert.equal(await again.ended, 255);
  });

  it("H2: the key's ACL limits the names, and a change of the ACL ends the endpoint", async () => {
    const made = clients.makeKey("limited");
    const id = await credential({ public_key: made.line, acl: [`bind:allowed.${domain}`] });
    const refused = clients.openssh(port, made, ...forward("other"));
    assert.equal(await refused.ended, 1);
    assert.ok(refused.stderr.includes(errorCode("agent_denied")), refused.stderr);
    const silent = clients.openssh(port, made, "-N", "-o", "ExitOnForwardFailure=yes", ...forward("other"));
    assert.equal(await silent.ended, 255);
    const client = clients.openssh(port, made, ...forward("allowed"));
    await client.says("allowed");
    await platform.api("PATCH", `/ssh_credentials/${id}`, { acl: ["bind:x.example.com"] });
    await eventually(
      () => client.stderr,
      (text) => text.includes("has ended"),
    );
    assert.equal((await platform.request(url("allowed"))).status, 404);
    await client.stop();
  });

  describe("H2: certificates", () => {
    let authority: SshKey;
    const certified = (name: string, principals: string, ...more: readonly string[]) => {
      const made = clients.makeKey(name);
      clients.certify(authority, made, principals, ...more);
      return clients.openssh(port, made, ...forward(name));
    };
    before(async () => {
      authority = clients.makeKey("authority");
      const { status } = await platform.api("POST", "/ssh_certificate_authorities", { public_key: authority.line });
      assert.equal(status, 201);
    });

    it("H2: a valid certificate publishes", async () => {
      const client = certified("certified", "me,other", "-V", "-1m:+1h", "-O", "source-address=127.0.0.0/8");
      await client.says("certified");
      assert.equal((await platform.request(url("certified"))).status, 200);
      await client.stop();
    });

    it("H2: a connection ends when its certificate expires", async () => {
      const end = new Date(Date.now() + 8_000).toISOString().replaceAll(/[-:T]|\..*/g, "");
      const client = certified("short", "me", "-V", `20200101000000Z:${end}Z`);
      await client.says("short");
      assert.notEqual(await client.ended, 0);
      assert.match(client.stderr, /certificate of this connection has expired/);
    });

    for (const [name, principals, more, why] of [
      ["expired", "me", ["-V", "20200101:20210101"], /expired/],
      ["early", "me", ["-V", "20990101:20991231"], /valid from/],
      ["principal", "you", [], /principals are you, but the user name of the login is "me"/],
      ["elsewhere", "me", ["-O", "source-address=192.0.2.0/24"], /limited to the addresses/],
      ["command", "me", ["-O", "force-command=ls"], /critical option "force-command"/],
      ["host", "me", ["-h"], /Permission denied/],
    ] as const) {
      it(`H2: a certificate is rejected if it is invalid: ${name}`, async () => {
        const client = certified(name, principals, ...more);
        assert.equal(await client.ended, 255);
        assert.match(client.stderr, why);
      });
    }

    it("H2: a certificate of an unknown authority is rejected, and a key of an authority is no user's key", async () => {
      const own = authority;
      authority = clients.makeKey("other-authority");
      const client = certified("foreign", "me");
      assert.equal(await client.ended, 255);
      assert.match(client.stderr, /does not know the certificate authority SHA256:/);
      authority = own;
      const direct = clients.openssh(port, own, ...forward("direct"));
      assert.equal(await direct.ended, 255);
    });
  });

  it("H6: a host certificate of the operator's authority proves the server to OpenSSH, and a wrong one stops the start", async () => {
    const authority = clients.makeKey("host-authority");
    const host = clients.makeKey("certified-host");
    clients.certify(authority, host, domain, "-h", "-V", "-1m:+52w");
    const certificate = `${host.file}-cert.pub`;
    const options = { domain, sshListen: { host: "127.0.0.1", port: 0 }, sshHostKey: host.file } as const;
    const certified = await startPlatform({ ...options, sshHostCertificate: certificate }, 1);
    try {
      await certified.api("POST", "/ssh_credentials", { public_key: key.line });
      const known = join(clients.directory, "known_hosts");
      const attempt = async (line: string, ...more: readonly string[]): Promise<string> => {
        writeFileSync(known, `${line}\n`);
        const strict = ["StrictHostKeyChecking=yes", `UserKnownHostsFile=${known}`, `HostKeyAlias=${domain}`];
        // OpenSSH uses the first value of an option.
        const args = ["-F", "none", "-T", "-i", key.file, "-p", String(certified.sshPort), "-l", "me"];
        const settings = [...strict, ...more, "BatchMode=yes"].flatMap((one) => ["-o", one]);
        const { stdout, stderr } = await run("ssh", [...args, ...settings, "127.0.0.1", "help"]).catch(
          (error: { readonly stdout: string; readonly stderr: string }) => error,
        );
        return stdout + stderr;
      };
      const publishes = /Publish a service of your machine/;
      assert.match(await attempt(`@cert-authority *.example.com ${authority.line}`), publishes);
      assert.match(await attempt(`@cert-authority *.example.com ${key.line}`), /Host key verification failed/);
      assert.match(
        await attempt(`@cert-authority other.example.com ${authority.line}`),
        /Host key verification failed/,
      );
      assert.match(await attempt(`${domain} ${host.line}`, "HostKeyAlgorithms=ssh-ed25519"), publishes);
    } finally {
      await certified.stop();
    }
    const other = clients.makeKey("other-host");
    await assert.rejects(
      startPlatform({ ...options, sshHostKey: other.file, sshHostCertificate: certificate }, 1),
      /must be a certificate of the server's host key/,
    );
    clients.certify(authority, other, domain);
    const ofUser = { sshHostKey: other.file, sshHostCertificate: `${other.file}-cert.pub` };
    await assert.rejects(startPlatform({ ...options, ...ofUser }, 1), /must be a certificate of a host/);
  });

  it("every ssh command of the guide works", async () => {
    const page = readFileSync("docs/guides/ssh.md", "utf8");
    const commands = [...page.matchAll(/^(?:\| `)?(ssh -p 2222 [^`\n]+)/gm)].map(([, command]) => command as string);
    assert.ok(commands.length > 7);
    for (const command of commands) {
      const words = command.split(" ").slice(3);
      const host = words.lastIndexOf(domain);
      const args = words.map((word, at) =>
        at === host ? "127.0.0.1" : word.replace("localhost:3000", `127.0.0.1:${service.port}`),
      );
      const client = clients.openssh(port, key, ...args);
      if (args.includes("-N")) {
        await eventually(
          () => platform.request(url("app")),
          ({ status }) => status === 200,
        );
      } else await client.says(/[Pp]ublish/);
      await client.stop();
    }
  });

  it("options of the command apply to the endpoint", async () => {
    const client = await publish("options", "http", "--cidr-deny", "127.0.0.0/8");
    assert.equal((await platform.request(url("options"))).status, 403);
    await client.stop();
    const guarded = await publish("guarded", "http", "--basic-auth", "user:password1");
    assert.equal((await platform.request(url("guarded"))).status, 401);
    const authorization = `Basic ${Buffer.from("user:password1").toString("base64")}`;
    assert.equal((await platform.request(url("guarded"), { headers: { authorization } })).status, 200);
    await guarded.stop();
  });

  it("H3: options that read files or run commands do not exist over SSH", async () => {
    for (const words of [
      "http --basic-auth-file /etc/passwd",
      "http --mcp-stdio ls",
      "tls --crt /etc/passwd",
      "sh -c ls",
    ]) {
      const client = clients.openssh(port, key, ...forward("files"), words);
      assert.equal(await client.ended, 2, words);
      assert.match(client.stderr, /no option|no command/, words);
    }
  });

  it("H3: a client gets no shell, subsystem, variables, agent, or connections from the server", async () => {
    const shell = clients.openssh(port, key, "127.0.0.1");
    assert.equal(await shell.ended, 2);
    assert.match(shell.stdout, /^Publish a service of your machine:/);
    const sftp = clients.openssh(port, key, "127.0.0.1", "-s", "sftp");
    assert.notEqual(await sftp.ended, 0);
    assert.match(sftp.stderr, /subsystem request failed/);
    const direct = clients.openssh(port, key, "-W", `127.0.0.1:${service.port}`, "127.0.0.1");
    assert.notEqual(await direct.ended, 0);
    assert.match(direct.stderr, /this server only publishes services/);
    assert.equal(direct.stdout, "");
  });

  it("H4: keys are replaced while data flows", async () => {
    const client = clients.openssh(port, key, "-o", "RekeyLimit=1M", "-v", ...forward("rekey"));
    await client.says("rekey");
    const body = randomBytes(4_000_000);
    const { text } = await platform.request(url("rekey", "/sent"), { method: "POST", body });
    assert.equal(text, `POST /sent ${createHash("sha256").update(body).digest("hex")}`);
    assert.equal((await platform.request(url("rekey", "/large"))).text.length, 5_000_000);
    assert.ok((client.stderr.match(/SSH2_MSG_NEWKEYS received/g) ?? []).length > 3);
    assert.match(client.stderr, /will use strict KEX ordering|kex_input_newkeys|rekey/);
    await client.stop();
  });

  for (const cipher of ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes256-ctr"]) {
    for (const mac of cipher.includes("ctr") ? ["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512"] : [undefined]) {
      it(`H4: a connection uses ${cipher}${mac === undefined ? "" : ` with ${mac}`}`, async () => {
        const name = `c-${cipher}-${mac ?? ""}`.replaceAll(/[^a-z0-9]+/g, "-").replace(/-$/, "");
        const choice = ["-c", cipher, ...(mac === undefined ? [] : ["-m", mac])];
        const client = clients.openssh(port, key, ...choice, ...forward(name));
        await client.says(name);
        assert.equal((await platform.request(url(name, "/large"))).text.length, 5_000_000);
        await client.stop();
      });
    }
  }

  it("H4: weak algorithms are not offered", async () => {
    for (const choice of [
      "KexAlgorithms=diffie-hellman-group14-sha1",
      "Ciphers=aes128-cbc",
      "HostKeyAlgorithms=ssh-rsa",
    ]) {
      const client = clients.openssh(port, key, "-o", choice, ...forward("weak"));
      assert.equal(await client.ended, 255, choice);
      assert.match(client.stderr, /no matching/, choice);
    }
  });

  it("D3: a client that stops reading delays no other", async () => {
    const stalled = await publish("stalled");
    const other = await publish("lively");
    process.kill(stalled.pid, "SIGSTOP");
    const asked = platform.request(url("stalled", "/large")).catch(() => undefined);
    assert.equal((await platform.request(url("lively", "/large"))).text.length, 5_000_000);
    process.kill(stalled.pid, "SIGCONT");
    assert.equal((await asked)?.status, 200);
    await Promise.all([stalled.stop(), other.stop()]);
  });

  it("dropbear publishes", { skip: skipWithout("dbclient", "dropbearconvert") }, async () => {
    const client = clients.dropbear(port, key, ...forward("dropbear"), "http", "--json");
    await client.says("dropbear");
    assert.equal((await platform.request(url("dropbear", "/large"))).text.length, 5_000_000);
    await client.stop();
  });

  describe("Paramiko", { skip: skipWithout("python3-paramiko") }, () => {
    it("Paramiko publishes without a session", async () => {
      const client = clients.paramiko(port, key, `forward("paramiko", 80, ${service.port})`);
      await client.says("forwarded 80");
      assert.equal((await platform.request(url("paramiko", "/large"))).text.length, 5_000_000);
      await client.stop();
    });

    for (const type of securityKeyTypes) {
      it(`H1: a security key of the type ${type} logs in only with the presence of its user`, async () => {
        const device = makeSecurityKey(type);
        await credential({ public_key: device.line });
        const client = clients.paramiko(port, key, securityKeyLogins(port, device));
        await client.says("flags 4 refused");
        await client.says("flags 1 accepted");
        await client.stop();
      });
    }

    it("H3: requests for variables, a forwarded agent, a display, a subsystem and connections are refused", async () => {
      const code = `
def tried(name, attempt):
    try:
        attempt()
        print(name, "accepted", flush=True)
    except Exception as error: print(name, "refused", getattr(error, "code", ""), flush=True)

def requested(name, *fields):
    session = transport.open_session()
    message = paramiko.Message()
    message.add_byte(b"\\x62")
    message.add_int(session.remote_chanid)
    message.add_string(name)
    message.add_boolean(True)
    for field in fields:
        if isinstance(field, str): message.add_string(field)
        elif isinstance(field, bool): message.add_boolean(field)
        else: message.add_int(field)
    session._event_pending()
    transport._send_user_message(message)
    try: session._wait_for_event()
    finally: session.close()

tried("env", lambda: requested("env", "LD_PRELOAD", "/tmp/x.so"))
tried("agent", lambda: requested("auth-agent-req@openssh.com"))
tried("x11", lambda: requested("x11-req", False, "MIT-MAGIC-COOKIE-1", "00", 0))
tried("sftp", lambda: requested("subsystem", "sftp"))
tried("unknown", lambda: requested("unknown-request@example.com"))
tried("direct", lambda: transport.open_channel("direct-tcpip", ("127.0.0.1", ${service.port}), ("127.0.0.1", 1)))
tried("x11 channel", lambda: transport.open_channel("x11", src_addr=("127.0.0.1", 1)))
tried("agent channel", lambda: transport.open_channel("auth-agent@openssh.com"))
tried("forwarded", lambda: transport.open_channel("forwarded-tcpip", ("127.0.0.1", ${service.port}), ("127.0.0.1", 1)))
tried("streamlocal", lambda: transport.open_channel("direct-streamlocal@openssh.com"))
tried("unix", lambda: transport.global_request("streamlocal-forward@openssh.com", ("/tmp/x.sock",), wait=True) or 1 / 0)
session = transport.open_session()
session.exec_command("cat /etc/passwd")
print("exec", session.recv_exit_status(), session.recv(100), session.recv_stderr(100), flush=True)
`;
      const seen = received;
      const client = clients.paramiko(port, key, code);
      const said = await client.says(/exec .*\n/);
      assert.deepEqual(said.match(/^.* accepted$/gm), null, said);
      assert.equal(said.match(/^.* refused .*$/gm)?.length, 11, said);
      assert.match(said, /exec 2 b'' b'There is no command "cat"/);
      assert.equal(received, seen);
      await client.stop();
    });

    it("H5: thousands of channels of one connection are bounded, and the connections of others are unharmed", async () => {
      const other = await publish("honest");
      const code = `
import time
transport.set_keepalive(0)
counts = {"opened": 0, "refused": 0}
def count(name, handler):
    def handle(*args):
        counts[name] += 1
        if name == "opened": return handler(*args)
    return handle
kinds = paramiko.transport.Transport._channel_handler_table, transport._handler_table
table = dict(transport._handler_table)
table[91] = count("opened", lambda self, m: None)
table[92] = count("refused", lambda self, m: None)
transport._handler_table = table
for number in range(20000):
    message = paramiko.Message()
    message.add_byte(b"\\x5a")
    message.add_string("session")
    message.add_int(1000 + number)
    message.add_int(65536)
    message.add_int(32768)
    transport._send_user_message(message)
    if number % 5000 == 0: print("sent", number, flush=True)
while counts["opened"] + counts["refused"] < 20000 and transport.is_active(): time.sleep(0.05)
print("counts", counts["opened"], counts["refused"], flush=True)
`;
      const before = process.memoryUsage.rss();
      const client = clients.paramiko(port, key, code);
      await client.says("sent 0");
      for (let round = 0; round < 20; round += 1) {
        assert.equal((await platform.request(url("honest"))).status, 200);
      }
      await client.says("counts 4 19996");
      assert.ok(process.memoryUsage.rss() - before < 128 * 1024 * 1024);
      await Promise.all([client.stop(), other.stop()]);
    });

    it("H5: visitors of a client that confirms no connection are bounded, and the client of others is unharmed", async () => {
      const [stalled, other] = [clients.paramiko(port, key, unconfirmed), await publish("confirming")];
      await stalled.says("forwarded 80");
      const visitors = await Promise.all(Array.from({ length: 600 }, () => platform.connect(`unconfirmed.${domain}`)));
      for (const visitor of visitors) {
        visitor.on("error", () => {});
        visitor.write(`GET / HTTP/1.1\r\nhost: unconfirmed.${domain}\r\n\r\n`);
      }
      await eventually(
        () => stalled.stdout.match(/^asked$/gm)?.length ?? 0,
        (count) => count >= 512,
      );
      assert.equal((await platform.request(url("confirming"))).status, 200);
      assert.equal((await platform.request(url("unconfirmed"))).status, 502);
      assert.equal(stalled.stdout.match(/^asked$/gm)?.length, 512);
      for (const visitor of visitors) visitor.destroy();
      await Promise.all([stalled.stop(), other.stop()]);
    });

    it("H5: a flood of channels, forwards and requests is bounded, and the server serves others", async () => {
      const code = `
opened = []
try:
    for number in range(50): opened.append(transport.open_session(timeout=20))
except paramiko.ChannelException as error:
    print("sessions", len(opened), error.code, flush=True)
refused = 0
for number in range(30):
    try: forward("flood%d" % number, 80, 1)
    except paramiko.SSHException: refused += 1
print("refused", refused, flush=True)
`;
      const client = clients.paramiko(port, key, code);
      await client.says("sessions 4 4");
      await client.says(/refused 14\n/);
      const other = await publish("beside");
      assert.equal((await platform.request(url("beside"))).status, 200);
      await Promise.all([client.stop(), other.stop()]);
    });
  });

  it("a service that does not answer is a 502 to the visitor, and a line to the client", async () => {
    const client = clients.openssh(port, key, "-R", "closed:80:127.0.0.1:1", "127.0.0.1");
    await client.says("closed");
    assert.equal((await platform.request(url("closed"))).status, 502);
    await eventually(
      () => client.stderr,
      (text) => text.includes("Your service cannot be reached"),
    );
    await client.stop();
  });

  it("a stop of the server ends the connection with a reason, after open requests", async () => {
    const stopping = await startPlatform({ domain, sshListen: { host: "127.0.0.1", port: 0 }, drainMs: 5_000 }, 1);
    try {
      await stopping.api("POST", "/ssh_credentials", { public_key: key.line });
      let answer: () => void = () => {};
      const slow = await startHttpService((_request, response) => (answer = () => response.end("late")));
      const client = clients.openssh(
        stopping.sshPort as number,
        key,
        "-R",
        `slow:80:127.0.0.1:${slow.port}`,
        "127.0.0.1",
      );
      await client.says("slow");
      const arrived = once(slow.server, "request");
      const asked = stopping.request(`https://slow.${domain}:${stopping.httpsPort}/`);
      await arrived;
      const stopped = stopping.stopServer();
      answer();
      assert.equal((await asked).text, "late");
      await stopped;
      assert.notEqual(await client.ended, 0);
      assert.match(client.stderr, /stopp/);
      await slow.stop();
    } finally {
      await stopping.stop();
    }
  });
});
