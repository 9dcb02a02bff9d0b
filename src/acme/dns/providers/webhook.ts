/**
 * The operator's own service: `POST URL/present` and `POST URL/cleanup` with `{"fqdn", "value"}`, as the provider `httpreq`
 * of lego sends it. Any status 2xx is a success.
 */
import { connectApi, readMember } from "../http-api.ts";
import type { DnsRecord, ProviderKind } from "../dns-provider.ts";

export const webhook: ProviderKind = {
  needs: ["url", "secret"],
  takes: ["ca"],
  open(access, clock) {
    const send = connectApi({
      title: "the DNS webhook",
      baseUrl: access.url as string,
      access,
      clock,
      headers: () => ({ authorization: `Bearer ${access.secret}` }),
      reason: (document) => readMember(document, "message"),
    });
    const call = async (action: string, { name, value }: DnsRecord): Promise<void> => {
      await send({ method: "POST", path: `/${action}`, body: { fqdn: `${name}.`, value } });
    };
    return {
      present: (record) => call("present", record),
      cleanup: (record) => call("cleanup", record),
    };
  },
};
