// Opens a page in Chromium, without a network, at several widths and in both colour schemes; prints what is seen as JSON.
//   node look_at_page.mjs BROWSER_FOLDER PAGE.html FOLDER_FOR_PICTURES
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, page_path, pictures] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/node_modules/x.js`)('playwright-core');
const browser = await chromium.launch({
  executablePath: `${folder}/chromium/chromium`,
  args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb'],
});

// Runs in the page: what a reader could not read, and what is drawn.
function inspect() {
  const box = (element) => element.getBoundingClientRect();
  const brightness = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [brightness(one), brightness(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = getComputedStyle(document.body).backgroundColor;
  const texts = [...document.querySelectorAll('h1,h2,li,footer,figcaption,.name,.value,svg text')].filter((one) =>
    one.textContent.trim(),
  );
  const seen = texts.map((one) => {
    const style = getComputedStyle(one);
    const colour = one instanceof SVGElement ? style.fill : style.color;
    const { x, y, width, height } = box(one);
    // An SVG may scale what is in it: the height on the screen counts.
    const scale = one instanceof SVGElement ? one.getScreenCTM().a : 1;
    return { text: one.textContent, x, y, width, height, size: parseFloat(style.fontSize) * scale,
             contrast: contrast(colour, ground) };
  });
  const overlaps = [];
  const labels = seen.filter((_, n) => !['H1', 'H2', 'LI', 'FOOTER'].includes(texts[n].tagName));
  labels.forEach((a, n) => labels.slice(n + 1).forEach((b) => {
    const apart = a.x + a.width <= b.x + 1 || b.x + b.width <= a.x + 1 || a.y + a.height <= b.y + 3 || b.y + b.height <= a.y + 3;
    if (!apart) overlaps.push([a.text, b.text]);
  }));
  const shapes = [...document.querySelectorAll('svg rect, svg line, svg circle, svg polyline')].map((one) => {
    const { x, y, width, height } = box(one);
    const style = getComputedStyle(one);
    const colour = style.fill === 'none' || one.tagName === 'line' ? style.stroke : style.fill;
    return { kind: one.tagName, name: one.getAttribute('class'), x, y, width, height, contrast: contrast(colour, ground) };
  });
  return { seen, overlaps, shapes, page: document.documentElement.scrollWidth, window: window.innerWidth,
           plots: document.querySelectorAll('figure').length };
}

// A busy machine may refuse a picture: it is for people to look at, and what is checked is measured in the page.
async function picture(page, path) {
  for (let tries = 3; tries; tries -= 1) {
    try {
      return await page.screenshot({ path, fullPage: true });
    } catch (error) {
      if (tries === 1) console.error(String(error));
    }
  }
}

const found = [];
for (const width of [1280, 390]) {
  for (const scheme of ['light', 'dark']) {
    const context = await browser.newContext({
      viewport: { width, height: 900 }, colorScheme: scheme, offline: true, deviceScaleFactor: width < 600 ? 2 : 1,
    });
    const page = await context.newPage();
    const said = [], asked = [];
    page.on('console', (message) => said.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => said.push(String(error)));
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(pathToFileURL(page_path).href);
    found.push({ width, scheme, said, asked, ...(await page.evaluate(inspect)) });
    await picture(page, `${pictures}/${width}-${scheme}.png`);
    await context.close();
  }
}
await browser.close();
console.log(JSON.stringify(found));
