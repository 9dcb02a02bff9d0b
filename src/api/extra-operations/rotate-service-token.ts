/** Rotation of service tokens: a new token, while the one before stays valid for a while. */
import { formatTimestamp } from "../../lib/clock.ts";
import { hashToken, newToken, tokenPrefixes } from "../../lib/tokens.ts";
import { serviceToken } from "../../resources/service-token.ts";
import { docOf } from "../../schema/doc.ts";
import { f } from "../../schema/fields.ts";
import { parseFields } from "../../schema/parse-fields.ts";
import { viewsFor } from "../objects/object-context.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { pathNames, requireObject } from "../objects/lookup.ts";
import { writeOnce } from "../objects/write-once.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { inputRefusal } from "../operation/input-refusal.ts";

const input = {
  previous_valid_minutes: f.uint32("Minutes for which the present token stays valid. 0: it ends immediately.", {
    max: 43_200,
    default: 60,
  }),
} as const;

export function rotateServiceTokenOperation(context: ObjectContext): Operation {
  const resource = resourceNamed(serviceToken.name);
  return {
    resource,
    id: "rotateServiceToken",
    method: "POST",
    path: `${resource.path}/{id}/rotate`,
    summary: "Replace the token by a new one. A token from an earlier rotation ends immediately.",
    takes: "object",
    input,
    status: 200,
    replySchema: resource.schemaName,
    tagged: true,
    stores: true,
    run: (call) => rotateToken(call, context),
  };
}

async function rotateToken(call: Call, context: ObjectContext): Promise<Reply> {
  const resource = resourceNamed(serviceToken.name);
  const { store, clock } = context;
  requireObject(resource, call, store);
  const { doc: asked, issues } = parseFields(input, call.body, "create", undefined, pathNames);
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
  const views = viewsFor(call, context);
  const token = newToken(tokenPrefixes.service);
  return await writeOnce(
    call,
    store,
    (draft) => {
      const present = requireObject(resource, call, draft);
      const minutes = Number(asked["previous_valid_minutes"]);
      return draft.replace(present, {
        ...present.doc,
        token_hash: hashToken(token).toString("hex"),
        previous_token_hash: minutes > 0 ? docOf(present, serviceToken).token_hash : "",
        previous_expires_at: minutes > 0 ? formatTimestamp(clock.now() + minutes * 60_000) : null,
      });
    },
    (object, revision) => {
      const body = JSON.stringify(views.render(object, call.baseUrl, { token }));
      return { status: 200, body, etag: views.etag(object), revision };
    },
  );
}
