import { spawn } from "node:child_process";

/** Programs that open a file or URL in the system's default browser. */
const openers: Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/**
 * Opens `target` in a browser on this machine.
 * @param failed receives the reason if that is not possible
 */
export function openInBrowser(target: string, failed: (why: string) => void): void {
  const [command, ...args] = openers[process.platform] ?? ["xdg-open"];
  const browser = spawn(command, [...args, target], { stdio: "ignore", detached: true });
  browser.on("error", (error) => failed(`cannot start a browser (${error.message})`));
  browser.unref();
}
