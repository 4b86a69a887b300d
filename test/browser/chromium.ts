import { type Browser, chromium } from "playwright-core";

const CHROMIUM_PATHS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Launches Debian's Chromium, headless. */
export async function launchChromium(): Promise<Browser> {
  for (const executablePath of CHROMIUM_PATHS)
    try {
      return await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
    } catch (error) {
      if (!/ENOENT|doesn't exist|not found/i.test(String(error))) throw error;
    }
  throw new Error("no Chromium found. Install it: apt-get install chromium");
}
