/** Runs the tests' OAuth providers in a separate process and prints their URL. */
import { startOAuthProviders } from "../../test/support/oauth-providers.ts";

const { baseUrl } = await startOAuthProviders();
process.stdout.write(`${baseUrl}\n`);
