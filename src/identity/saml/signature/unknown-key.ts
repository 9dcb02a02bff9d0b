import { XmlIssue } from "../xml/element.ts";

/** None of the known keys made the signature. The provider may have a new key. */
export class UnknownKey extends XmlIssue {}
