/** The Huffman code of HPACK (RFC 7541 Appendix B). It is canonical, so the code lengths define it completely. */

/** Symbols by code length in bits. Symbol 256 ends a string and must not occur in one. */
const symbolsByLength: readonly (readonly [bits: number, symbols: readonly number[]])[] = [
  [5, toCharCodes("012aceiost")],
  [6, toCharCodes(" %-./3456789=A_bdfghlmnpru")],
  [7, toCharCodes(":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz")],
  [8, toCharCodes("&*,;XZ")],
  [10, toCharCodes('!"()?')],
  [11, toCharCodes("'+|")],
  [12, toCharCodes("#>")],
  [13, [0, ...toCharCodes("$@[]~")]],
  [14, toCharCodes("^}")],
  [15, toCharCodes("<`{")],
  [19, [92, 195, 208]],
  [20, [128, 130, 131, 162, 184, 194, 224, 226]],
  [21, [153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230]],
  [
    22,
    [
      129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173, 178, 181, 185, 186, 187, 189, 190, 196, 198,
      228, 232, 233,
    ],
  ],
  [
    23,
    [
      1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174, 175, 180, 182,
      183, 188, 191, 197, 231, 239,
    ],
  ],
  [24, [9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237]],
  [25, [199, 207, 234, 235]],
  [26, [192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255]],
  [27, [203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254]],
  [28, [...listRange(2, 8), 11, 12, ...listRange(14, 21), ...listRange(23, 31), 127, 220, 249]],
  [30, [10, 13, 22, 256]],
];

/**
 * Flag of an entry of `steps`: a symbol ends with this half byte. The symbol is in the upper bits, the next state in
 * the lower ones.
 */
const emits = 0x100;
const symbolShift = 9;
const failed = -1;

/** Indexed by state and half byte. A state is an inner node of the code's tree, 0 its root. */
const steps = new Int32Array(256 * 16);
/** States in which a string may end: after a symbol, or within up to 7 one-bits of padding (RFC 7541 §5.2). */
const mayEnd = new Uint8Array(256);

buildSteps();

/**
 * Decodes `source[start, end)` to `target` at `at`, which needs room for 8/5 of the bytes. Returns the end position, or
 * -1 if the string is invalid.
 */
export function decodeHuffman(source: Uint8Array, start: number, end: number, target: Uint8Array, at: number): number {
  let state = 0;
  let out = at;
  for (let index = start; index < end; index += 1) {
    const byte = source[index] as number;
    let step = steps[(state << 4) | (byte >> 4)] as number;
    if (step < 0) return failed;
    if ((step & emits) !== 0) {
      target[out] = step >> symbolShift;
      out += 1;
    }
    step = steps[((step & 0xff) << 4) | (byte & 15)] as number;
    if (step < 0) return failed;
    if ((step & emits) !== 0) {
      target[out] = step >> symbolShift;
      out += 1;
    }
    state = step & 0xff;
  }
  return mayEnd[state] === 1 ? out : failed;
}

/** Returns the code of each symbol as text of zeros and ones. */
export function huffmanCodes(): Map<number, string> {
  const found = new Map<number, string>();
  let code = 0;
  let length = 0;
  for (const [bits, symbols] of symbolsByLength) {
    code *= 2 ** (bits - length);
    length = bits;
    for (const symbol of symbols) {
      found.set(symbol, code.toString(2).padStart(bits, "0"));
      code += 1;
    }
  }
  return found;
}

interface CodeNode {
  readonly id: number;
  readonly children: (CodeNode | number | undefined)[];
}

function buildSteps(): void {
  const nodes: CodeNode[] = [];
  const makeNode = (): CodeNode => {
    const node: CodeNode = { id: nodes.length, children: [] };
    nodes.push(node);
    return node;
  };
  const root = makeNode();
  for (const [symbol, code] of huffmanCodes()) {
    let node = root;
    for (const bit of code.slice(0, -1)) node = (node.children[Number(bit)] ??= makeNode()) as CodeNode;
    node.children[Number(code.at(-1))] = symbol;
  }
  for (const node of nodes) {
    for (let half = 0; half < 16; half += 1) steps[(node.id << 4) | half] = walkBits(root, node, half);
  }
  let padding: CodeNode | number | undefined = root;
  for (let ones = 0; ones <= 7 && typeof padding === "object"; ones += 1) {
    mayEnd[padding.id] = 1;
    padding = padding.children[1];
  }
}

function walkBits(root: CodeNode, from: CodeNode, half: number): number {
  let node = from;
  let symbol = -1;
  for (let bit = 3; bit >= 0; bit -= 1) {
    const child = node.children[(half >> bit) & 1];
    if (child === undefined || child === 256) return failed;
    if (typeof child === "number") {
      symbol = child;
      node = root;
    } else {
      node = child;
    }
  }
  return symbol < 0 ? node.id : (symbol << symbolShift) | emits | node.id;
}

function toCharCodes(text: string): number[] {
  return Array.from(Buffer.from(text, "latin1"));
}

function listRange(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
