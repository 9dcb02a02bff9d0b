const maxHexBytes = 4_096;

/** Formats sixteen bytes per line: offset, hexadecimal and ASCII. */
export function hexOf(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, maxHexBytes); at += 16) {
    const row = [...bytes.subarray(at, at + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const letters = row.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${hex.padEnd(47)}  ${letters}`);
  }
  if (bytes.length > maxHexBytes) lines.push(`… ${bytes.length - maxHexBytes} bytes more`);
  return lines.join("\n");
}
