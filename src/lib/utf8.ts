const decoder = new TextDecoder("utf-8", { fatal: true });

/** Returns the text of a file, without a byte order mark. Throws `Error` for anything but UTF-8. */
export function utf8Text(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
    throw new Error(`it is ${isUtf16 ? "UTF-16" : "not UTF-8"}: save it as UTF-8`, { cause: error });
  }
}
