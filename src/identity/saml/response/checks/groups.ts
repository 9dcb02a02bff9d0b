import { refused } from "../../refusal.ts";
import { attributesOf, valuesOf } from "../attributes.ts";
import type { Verdict, Work } from "../work.ts";

/** The attribute that `authorized_groups` refers to. */
const groupsAttribute = ["groups"];

/** 13: the visitor is in one of the route's groups, if it lists any. Groups are compared exactly (I5). */
export function checkGroups(work: Work): Verdict {
  const { authorizedGroups } = work.input;
  work.attributes = attributesOf(work.assertion);
  work.groups = valuesOf(work.attributes, groupsAttribute);
  if (authorizedGroups.length === 0 || work.groups.some((one) => authorizedGroups.includes(one))) return undefined;
  return refused("saml_group", `none of the visitor's ${work.groups.length} groups has access`);
}
