/** What rules may know about addresses. Read by the server's main thread, which shares the data with all edges. */
import { addressCategory } from "./kinds/address-category.ts";
import { file } from "./kinds/file.ts";
import { many } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

export const addressSettings = {
  geoDatabase: many(
    "MMDB file with the locations or networks of addresses, such as GeoLite2-City.mmdb; repeatable. For a field that several files have, the first one counts. The server reads a changed file again. Without a file with countries, the server uses the database of countries that Postern contains.",
    file,
  ),
  ipCategory: many(
    "Category of addresses for traffic policies (conn.client_ip.categories), with a list of networks, one a line: a file, or an http(s) URL that the server reads every hour; repeatable. proxy.anonymous.tor also sets is_tor_node, and blocklist sets is_on_blocklist.",
    addressCategory,
  ),
} as const;

export type AddressSettings = ValuesOf<typeof addressSettings>;
