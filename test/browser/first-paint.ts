import type { Page } from "playwright-core";

// The browser tells it some time after `load`, the later the more else the machine has to do.
const FIRST_PAINT_SCRIPT = `new Promise((resolve) => {
  const observer = new PerformanceObserver((list) => {
    const painted = list.getEntriesByName("first-contentful-paint")[0];
    if (painted) resolve(painted.startTime);
  });
  observer.observe({ type: "paint", buffered: true });
})`;

/** Milliseconds from asking for the page until something of it is seen. */
export async function measureFirstPaintMs(page: Page, path: string): Promise<number> {
  await page.goto(path, { waitUntil: "load" });
  return await page.evaluate<number>(FIRST_PAINT_SCRIPT);
}
