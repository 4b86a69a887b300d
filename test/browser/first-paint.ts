import type { Page } from "playwright-core";

// The browser reports it some time after `load`, and later if the machine is busy.
const FIRST_PAINT_SCRIPT = `new Promise((resolve) => {
  const observer = new PerformanceObserver((list) => {
    const painted = list.getEntriesByName("first-contentful-paint")[0];
    if (painted) resolve(painted.startTime);
  });
  observer.observe({ type: "paint", buffered: true });
})`;

/** Returns the milliseconds from the request for the page until its first paint. */
export async function measureFirstPaintMs(page: Page, path: string): Promise<number> {
  await page.goto(path, { waitUntil: "load" });
  return await page.evaluate<number>(FIRST_PAINT_SCRIPT);
}
