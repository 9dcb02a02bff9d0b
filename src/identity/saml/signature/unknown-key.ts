import { XmlIssue } from "../xml/element.ts";

/** A signature that none of the known keys has made: the provider may have a new one. */
export class UnknownKey extends XmlIssue {}
