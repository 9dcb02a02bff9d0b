/** Lists the trust stores of systems and browsers, and the commands that add or remove a CA. */
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";

/** A program and its arguments. */
export type Words = readonly [program: string, ...words: string[]];

export interface TrustStore {
  /** Name for people. */
  readonly name: string;
  /** Commands in order. All of them need root if `needsRoot` is set. */
  readonly commands: readonly Words[];
  readonly needsRoot: boolean;
  /** A missing program and its package. The store is skipped. */
  readonly missing?: string;
}

export interface TrustedCa {
  /** PEM file, absolute. */
  readonly file: string;
  /** Distinguishes this CA from those of other servers, such as `postern-1a2b3c4d`. */
  readonly id: string;
  /** Hexadecimal, without colons. */
  readonly serialNumber: string;
  /** SHA-1 in hexadecimal, without colons. macOS identifies certificates by it. */
  readonly fingerprint: string;
}

export interface TrustSystem {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /** Whether a program is on PATH. */
  hasProgram(name: string): boolean;
  hasFolder(path: string): boolean;
}

const debianFolder = "/usr/local/share/ca-certificates";
const fedoraFolder = "/etc/pki/ca-trust/source/anchors";

/** Returns the stores of this system with the commands that add or remove the CA. */
export function trustStores(ca: TrustedCa, isInstall: boolean, system: TrustSystem): readonly TrustStore[] {
  if (system.platform === "darwin") return [makeKeychain(ca, isInstall, system.home)];
  if (system.platform === "win32") return [windowsStore(ca, isInstall)];
  return [...systemStores(ca, isInstall, system), ...browserStores(ca, isInstall, system)];
}

function systemStores({ file, id }: TrustedCa, isInstall: boolean, { hasFolder }: TrustSystem): TrustStore[] {
  const stores: TrustStore[] = [];
  const put = (target: string): Words => (isInstall ? ["install", "-m", "644", file, target] : ["rm", "-f", target]);
  if (hasFolder(debianFolder)) {
    const update: Words = isInstall ? ["update-ca-certificates"] : ["update-ca-certificates", "--fresh"];
    stores.push({ name: "the system", commands: [put(`${debianFolder}/${id}.crt`), update], needsRoot: true });
  }
  if (hasFolder(fedoraFolder)) {
    stores.push({
      name: "the system",
      commands: [put(`${fedoraFolder}/${id}.pem`), ["update-ca-trust"]],
      needsRoot: true,
    });
  }
  return stores;
}

/** NSS databases: one of Chromium and Chrome for the user, and one in each Firefox profile. */
function browserStores({ file, id }: TrustedCa, isInstall: boolean, { home, hasProgram }: TrustSystem): TrustStore[] {
  const own = join(home, ".pki", "nssdb");
  const profiles = globSync(["", "snap/firefox/common/"].map((at) => join(home, at, ".mozilla/firefox/*/cert9.db")));
  const stores = [
    { name: "Chromium and Chrome", folder: own },
    ...profiles.sort().map((path) => ({ name: "Firefox", folder: path.slice(0, -"/cert9.db".length) })),
  ].filter(({ folder }) => isInstall || existsSync(folder));
  return stores.map(({ name, folder }) => {
    const database = `sql:${folder}`;
    const create: readonly Words[] = existsSync(join(folder, "cert9.db"))
      ? []
      : [
          ["mkdir", "-p", folder],
          ["certutil", "-N", "-d", database, "--empty-password"],
        ];
    const add: Words = ["certutil", "-A", "-d", database, "-t", "C,,", "-n", id, "-i", file];
    const remove: Words = ["certutil", "-D", "-d", database, "-n", id];
    return {
      name: `${name} (${folder})`,
      commands: isInstall ? [...create, add] : [remove],
      needsRoot: false,
      ...(!hasProgram("certutil") && {
        missing: "certutil, in the package libnss3-tools (Debian) or nss-tools (Fedora)",
      }),
    };
  });
}

function makeKeychain({ file, fingerprint }: TrustedCa, isInstall: boolean, home: string): TrustStore {
  const chain = join(home, "Library/Keychains/login.keychain-db");
  const commands: readonly Words[] = isInstall
    ? [["security", "add-trusted-cert", "-r", "trustRoot", "-k", chain, file]]
    : [
        ["security", "remove-trusted-cert", file],
        ["security", "delete-certificate", "-Z", fingerprint, chain],
      ];
  return { name: "the login keychain", commands, needsRoot: false };
}

function windowsStore({ file, serialNumber }: TrustedCa, isInstall: boolean): TrustStore {
  const commands: readonly Words[] = isInstall
    ? [["certutil", "-addstore", "-user", "Root", file]]
    : [["certutil", "-delstore", "-user", "Root", serialNumber]];
  return { name: "the user's certificate store", commands, needsRoot: false };
}
