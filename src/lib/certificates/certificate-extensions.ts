/** The extensions of an X.509 certificate (RFC 5280 §4.1.2.9). */
import { readDer, tag } from "./der.ts";

export interface CertificateExtension {
  /** Dotted, for example `2.5.29.17`; empty if it is longer than any in use. */
  readonly oid: string;
  readonly critical: boolean;
  /** DER, in the format of the extension. */
  readonly value: Buffer;
}

/** `[3] EXPLICIT`. */
const extensionsTag = 0xa3;

/** Returns the extensions in the certificate's order. Throws if the bytes are no certificate. @param certificate DER */
export function certificateExtensions(certificate: Buffer): CertificateExtension[] {
  const [signed] = readDer(unwrapElement(certificate));
  const fields = readDer(unwrapElement(signed?.whole ?? Buffer.alloc(0)));
  const list = fields.find((field) => field.tag === extensionsTag);
  if (!list) return [];
  return readDer(unwrapElement(list.body)).map(({ body }) => {
    const parts = readDer(body);
    const id = parts.find((part) => part.tag === tag.oid);
    const value = parts.find((part) => part.tag === tag.octetString);
    if (!id || !value) throw new Error("read an extension: it has no identifier or no value");
    const critical = parts.some((part) => part.tag === tag.boolean && part.body[0] === 0xff);
    return { oid: renderOid(id.body), critical, value: value.body };
  });
}

function unwrapElement(element: Buffer): Buffer {
  const [outer] = readDer(element);
  if (outer?.tag !== tag.sequence) throw new Error("read a certificate: there is no sequence");
  return outer.body;
}

/** Maximum bytes of an identifier, because converting a number takes quadratic time. */
const maxIdentifier = 128;

/** X.690 §8.19. */
function renderOid(body: Buffer): string {
  if (body.length > maxIdentifier) return "";
  const arcs: bigint[] = [];
  let arc = 0n;
  for (const byte of body) {
    arc = arc * 128n + BigInt(byte & 0x7f);
    if (byte >= 0x80) continue;
    if (arcs.length === 0) {
      const first = arc < 80n ? arc / 40n : 2n;
      arcs.push(first, arc - first * 40n);
    } else arcs.push(arc);
    arc = 0n;
  }
  return arcs.join(".");
}
