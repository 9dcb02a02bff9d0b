import { makeSamlRefusal } from "../../saml-refusal.ts";
import { attributesOf, valuesOf } from "../attributes.ts";
import type { CheckFailure, Work } from "../work.ts";

/** The attribute that `authorized_groups` refers to. */
const groupsAttribute = ["groups"];

/** 13: the visitor is in one of the route's groups, if it lists any. Groups are compared exactly (I5). */
export function checkGroups(work: Work): CheckFailure {
  const { authorizedGroups } = work.input;
  work.attributes = attributesOf(work.assertion);
  work.groups = valuesOf(work.attributes, groupsAttribute);
  if (authorizedGroups.length === 0 || work.groups.some((one) => authorizedGroups.includes(one))) return undefined;
  return makeSamlRefusal("saml_group", `none of the visitor's ${work.groups.length} groups has access`);
}
