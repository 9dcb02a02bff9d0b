/** Kinds of values of the access log's settings. */
import { resolve } from "node:path";
import { accessFields } from "../../lib/access-fields.ts";
import type { AccessField } from "../../lib/access-fields.ts";
import { isHttpToken } from "../../lib/http-token.ts";
import type { SettingKind } from "./kind.ts";

/** An absolute path, or `-` for standard output. */
export const accessLogPlace: SettingKind<string> = {
  placeholder: "FILE|-",
  parse(text) {
    if (text === "") throw new Error("must be the path of a file, or - for standard output");
    return text === "-" ? text : resolve(text);
  },
};

export const accessField: SettingKind<AccessField> = {
  placeholder: "FIELD",
  parse(text) {
    const field = accessFields.find((one) => one === text);
    if (field === undefined) throw new Error(`must be one of ${accessFields.join(", ")}`);
    return field;
  },
};

/** Names of fields that carry credentials: the usual ones, and names that say it. */
const credentials =
  /cookie|token|secret|passw|credential|signature|session|jwt|assertion|csrf|xsrf|authoriz|authent|(?:^|-)(?:auth|sso|key|apikey)(?:-|$)/;

/** A request header field that may be logged, in lower case. */
export const loggedHeader: SettingKind<string> = {
  placeholder: "NAME",
  parse(text) {
    const name = text.toLowerCase();
    if (!isHttpToken(name)) throw new Error("must be the name of a header field, such as x-request-id");
    if (credentials.test(name)) {
      throw new Error(
        "must not be a header field that carries credentials, such as authorization, cookie or x-api-key",
      );
    }
    return name;
  },
};
