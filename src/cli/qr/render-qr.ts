import { encodeQr } from "./encode.ts";

/** Number of light modules around the code. */
const quiet = 2;
/** A character shows two rows. Its block is light because terminals are dark. */
const blocks = { "true true": " ", "true false": "▄", "false true": "▀", "false false": "█" } as const;

/** Returns the lines that show `text` as a QR code, or none if the text is too long. */
export function renderQr(text: string): readonly string[] {
  const code = encodeQr(text);
  if (!code) return [];
  const size = code.length + 2 * quiet;
  const isDark = (x: number, y: number): boolean => code[y - quiet]?.[x - quiet] === true;
  return Array.from({ length: Math.ceil(size / 2) }, (_, line) =>
    Array.from({ length: size }, (_empty, x) => {
      const pair = `${isDark(x, line * 2)} ${isDark(x, line * 2 + 1)}` as keyof typeof blocks;
      return blocks[pair];
    }).join(""),
  );
}
