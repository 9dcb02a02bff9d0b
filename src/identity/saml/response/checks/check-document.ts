import { readXml } from "../../xml/read-xml.ts";
import type { CheckFailure, Work } from "../work.ts";

const limits = { maxLength: 262_144, maxDepth: 32, maxElements: 2000, maxAttributes: 32 };

/** 2: XML that every reader understands in the same way. Parsed here, once. */
export function checkDocument(work: Work): CheckFailure {
  work.response = readXml(work.xml, limits);
  return undefined;
}
