import { readXml } from "../../xml/read.ts";
import type { Verdict, Work } from "../work.ts";

const limits = { maxLength: 262_144, maxDepth: 32, maxElements: 2000, maxAttributes: 32 };

/** 2: XML that every reader understands in the same way. Parsed here, once. */
export function checkDocument(work: Work): Verdict {
  work.response = readXml(work.xml, limits);
  return undefined;
}
