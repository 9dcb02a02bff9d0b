/** IP addresses and networks as numbers: IPv4 is one 32-bit word, IPv6 four, most significant first. */

export interface Network {
  /** IPv4-mapped IPv6 networks of /96 and longer are IPv4. */
  readonly family: 4 | 6;
  readonly prefix: number;
  /** Lowest and highest address; one word for IPv4, four for IPv6. */
  readonly first: readonly number[];
  readonly last: readonly number[];
  /** Canonical: `192.0.2.0/24`, `2001:db8::/32`. */
  readonly text: string;
}

/**
 * Parses the address `text` into `words` and returns its family, or 0 if it is not an address. An IPv4-mapped IPv6
 * address is IPv4. Zone ids (`fe80::1%eth0`), ports, brackets and leading zeros in IPv4 are invalid.
 */
export function readAddress(text: string, words: Uint32Array): 0 | 4 | 6 {
  const four = readIpv4(text, 0);
  if (four >= 0) {
    words[0] = four;
    return 4;
  }
  if (!readIpv6(text, words)) return 0;
  if (words[0] !== 0 || words[1] !== 0 || words[2] !== 0xffff) return 6;
  words[0] = words[3] as number;
  return 4;
}

/**
 * Words of the last parsed address or network. Such arrays are expensive to create, and thousands of addresses are
 * parsed.
 */
const words = new Uint32Array(4);

/**
 * Returns the canonical text (RFC 5952) of a peer's address: unmapped, without zone. Undefined if it is not an address.
 */
export function normaliseAddress(text: string): string | undefined {
  // Only the canonical text of an IPv4 address is valid.
  if (readIpv4(text, 0) >= 0) return text;
  const zone = text.indexOf("%");
  const family = readAddress(zone < 0 ? text : text.slice(0, zone), words);
  return family === 0 ? undefined : formatAddress(family, words);
}

export function formatAddress(family: 4 | 6, words: ArrayLike<number>): string {
  if (family === 4) {
    const word = words[0] as number;
    return `${word >>> 24}.${(word >>> 16) & 255}.${(word >>> 8) & 255}.${word & 255}`;
  }
  const groups = Array.from(
    { length: 8 },
    (_, at) => ((words[at >> 1] as number) >>> (at % 2 === 0 ? 16 : 0)) & 0xffff,
  );
  let [start, length] = [-1, 1];
  for (let at = 0; at < 8; at += 1) {
    let run = 0;
    while (at + run < 8 && groups[at + run] === 0) run += 1;
    if (run > length) [start, length] = [at, run];
    at += run;
  }
  const hex = (part: number[]): string => part.map((group) => group.toString(16)).join(":");
  return start < 0 ? hex(groups) : `${hex(groups.slice(0, start))}::${hex(groups.slice(start + length))}`;
}

/**
 * Parses a network in CIDR notation, or one address. Returns undefined if it is invalid or has bits set beyond its mask
 * (see `cidrIssue`).
 */
export function parseCidr(text: string): Network | undefined {
  const network = readNetwork(text);
  return typeof network === "string" ? undefined : network;
}

/** Returns the error in `text` as a CIDR, as the end of "must …"; undefined if it is valid. */
export function cidrIssue(text: string): string | undefined {
  const network = readNetwork(text);
  return typeof network === "string" ? network : undefined;
}

function readNetwork(text: string): Network | string {
  const slash = text.indexOf("/");
  const family = readAddress(slash < 0 ? text : text.slice(0, slash), words);
  if (family === 0) return 'be an address or a network, such as "192.0.2.7", "192.0.2.0/24" or "2001:db8::/32"';
  const mapped = family === 4 && text.includes(":");
  const bits = mapped || family === 6 ? 128 : 32;
  const mask = slash < 0 ? bits : readMask(text, slash + 1);
  if (mask < 0 || mask > bits) return `have a mask of 0 to ${bits}`;
  const prefix = mask - (mapped ? 96 : 0);
  if (prefix < 0) return "not mix IPv4-mapped with other IPv6 addresses";
  const [first, last] =
    family === 4 ? [[lowestWord(0, prefix)], [highestWord(0, prefix)]] : [lowestGroups(prefix), highestGroups(prefix)];
  const isLowest = first.every((word, at) => word === words[at]);
  // Only the canonical text of an IPv4 address is valid.
  const isCanonical = isLowest && family === 4 && !mapped && slash >= 0;
  const canonical = isCanonical ? text : `${formatAddress(family, first)}/${prefix}`;
  if (!isLowest) return `be the lowest address of its network: "${canonical}"`;
  return { family, prefix, first, last, text: canonical };
}

/** Returns word `at` of the lowest address in the network of `prefix` bits that contains the address in `words`. */
function lowestWord(at: number, prefix: number): number {
  return ((words[at] as number) & maskOf(at, prefix)) >>> 0;
}

function highestWord(at: number, prefix: number): number {
  return ((words[at] as number) | ~maskOf(at, prefix)) >>> 0;
}

function lowestGroups(prefix: number): number[] {
  return [lowestWord(0, prefix), lowestWord(1, prefix), lowestWord(2, prefix), lowestWord(3, prefix)];
}

function highestGroups(prefix: number): number[] {
  return [highestWord(0, prefix), highestWord(1, prefix), highestWord(2, prefix), highestWord(3, prefix)];
}

function maskOf(at: number, prefix: number): number {
  const kept = Math.min(Math.max(prefix - 32 * at, 0), 32);
  return kept === 0 ? 0 : 0xffffffff << (32 - kept);
}

/** Returns one to three digits from `from` to the end as a number, without leading zeros; or -1. */
function readMask(text: string, from: number): number {
  const digits = text.length - from;
  if (digits < 1 || digits > 3 || (digits > 1 && text.charCodeAt(from) === 48)) return -1;
  let value = 0;
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 48 || code > 57) return -1;
    value = value * 10 + code - 48;
  }
  return value;
}

/** Returns the dotted quad from `from` to the end as a number, or -1. */
function readIpv4(text: string, from: number): number {
  let value = 0;
  let octet = -1;
  let octets = 0;
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 46) {
      if (octet < 0 || octets === 3) return -1;
      value = value * 256 + octet;
      octets += 1;
      octet = -1;
    } else {
      // Some parsers read a leading zero as octal, others as decimal.
      if (code < 48 || code > 57 || octet === 0) return -1;
      octet = (octet < 0 ? 0 : octet * 10) + code - 48;
      if (octet > 255) return -1;
    }
  }
  return octets === 3 && octet >= 0 ? value * 256 + octet : -1;
}

/** RFC 4291 §2.2, all three forms. */
function readIpv6(text: string, words: Uint32Array): boolean {
  const length = text.length;
  if (length < 2 || length > 45) return false;
  words.fill(0);
  let groups = 0;
  let gap = -1;
  let at = 0;
  if (text.charCodeAt(0) === 58) {
    if (text.charCodeAt(1) !== 58) return false;
    gap = 0;
    at = 2;
  }
  while (at < length) {
    const start = at;
    let group = 0;
    let code = 0;
    for (; at < length && (code = text.charCodeAt(at)) !== 58; at += 1) {
      if (code === 46) {
        const four = readIpv4(text, start);
        if (four < 0 || groups > 6) return false;
        putGroup(words, groups, four >>> 16);
        putGroup(words, groups + 1, four & 0xffff);
        return expandGap(words, groups + 2, gap);
      }
      const digit = hexDigit(code);
      if (digit < 0 || at - start === 4) return false;
      group = group * 16 + digit;
    }
    if (at === start || groups === 8) return false;
    putGroup(words, groups, group);
    groups += 1;
    if (at === length) break;
    at += 1;
    if (at === length) return false;
    if (text.charCodeAt(at) === 58) {
      if (gap >= 0) return false;
      gap = groups;
      at += 1;
    }
  }
  return expandGap(words, groups, gap);
}

/** Moves the groups after `::` to the end. */
function expandGap(words: Uint32Array, groups: number, gap: number): boolean {
  if (gap < 0) return groups === 8;
  if (groups >= 8) return false;
  for (let back = 0; back < groups - gap; back += 1) {
    const group = takeGroup(words, groups - 1 - back);
    putGroup(words, groups - 1 - back, 0);
    putGroup(words, 7 - back, group);
  }
  return true;
}

function takeGroup(words: Uint32Array, at: number): number {
  return ((words[at >> 1] as number) >>> (at % 2 === 0 ? 16 : 0)) & 0xffff;
}

function putGroup(words: Uint32Array, at: number, group: number): void {
  const word = words[at >> 1] as number;
  words[at >> 1] = at % 2 === 0 ? (group << 16) | (word & 0xffff) : (word & 0xffff0000) | group;
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const lower = code | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}
