/** The OAuth providers of the tests in a process of their own; prints where they are. */
import { startOAuthProviders } from "../../test/support/oauth-providers.ts";

const { baseUrl } = await startOAuthProviders();
process.stdout.write(`${baseUrl}\n`);
