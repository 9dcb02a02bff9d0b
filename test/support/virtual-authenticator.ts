/** An authenticator of the browser itself, which confirms as a fingerprint would (WebDriver's virtual authenticator). */
import type { CDPSession, Page } from "playwright-core";

export interface VirtualAuthenticator {
  /** Whether the person confirms from now on. */
  confirm(does: boolean): Promise<void>;
  /** Number of passkeys that it holds. */
  count(): Promise<number>;
}

export async function addAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const session: CDPSession = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    confirm: async (does) =>
      void (await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: does })),
    count: async () => (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials.length,
  };
}
