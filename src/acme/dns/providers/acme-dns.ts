/**
 * A server of the project acme-dns, which only serves challenges. `_acme-challenge` of each domain is a CNAME record that
 * leads to the account's subdomain there. The server keeps the last two values, so nothing has to be removed.
 */
import { connectApi, readMember } from "../http-api.ts";
import type { ProviderKind } from "../dns-provider.ts";

export const acmeDns: ProviderKind = {
  needs: ["url", "key", "secret"],
  takes: ["ca"],
  open(access, clock) {
    const send = connectApi({
      title: "acme-dns",
      baseUrl: access.url as string,
      access,
      clock,
      headers: () => ({ "x-api-user": access.key as string, "x-api-key": access.secret as string }),
      reason: (document) => readMember(document, "error"),
    });
    return {
      async present({ name, value }) {
        // The first label of the account's name is its subdomain.
        const subdomain = name.slice(0, name.indexOf("."));
        await send({ method: "POST", path: "/update", body: { subdomain, txt: value } });
      },
      cleanup: () => Promise.resolve(),
    };
  },
};
