/**
 * Charts as files. Colours and fonts come from the page's styles, so a file gets them written into
 * it. A PNG is drawn shape by shape: the Content-Security-Policy lets no page load an image that
 * it made itself.
 */
const pngScale = 2;
const written = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "font-size",
  "font-family",
] as const;

export function saveSvg(svg: SVGSVGElement, name: string): void {
  const copy = svg.cloneNode(true);
  if (!(copy instanceof SVGSVGElement)) return;
  const originals = svg.querySelectorAll<SVGElement>("path, line, rect, circle, text");
  copy.querySelectorAll<SVGElement>("path, line, rect, circle, text").forEach((element, index) => {
    const original = originals[index];
    if (original === undefined) return;
    const style = getComputedStyle(original);
    for (const property of written) {
      element.setAttribute(property, style.getPropertyValue(property));
    }
    element.removeAttribute("class");
  });
  for (const link of copy.querySelectorAll("a")) link.removeAttribute("href");
  const { width, height } = svg.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const text = new XMLSerializer().serializeToString(copy);
  download(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
}

export function savePng(svg: SVGSVGElement, name: string): void {
  const { width, height } = svg.getBoundingClientRect();
  const canvas = document.createElement("canvas");
  canvas.width = width * pngScale;
  canvas.height = height * pngScale;
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.scale(pngScale, pngScale);
  context.fillStyle = getComputedStyle(svg.closest(".figure") ?? document.body).backgroundColor;
  context.fillRect(0, 0, width, height);
  for (const shape of svg.querySelectorAll<SVGElement>("path, line, rect, circle, text")) {
    drawShape(context, shape);
  }
  canvas.toBlob((blob) => {
    if (blob !== null) download(blob, `${name}.png`);
  });
}

function drawShape(context: CanvasRenderingContext2D, shape: SVGElement): void {
  const style = getComputedStyle(shape);
  context.save();
  if (shape instanceof SVGTextElement) drawText(context, shape, style);
  else paint(context, pathOf(shape), style);
  context.restore();
}

function pathOf(shape: SVGElement): Path2D {
  const number = (name: string): number => Number(shape.getAttribute(name) ?? 0);
  if (shape instanceof SVGPathElement) return new Path2D(shape.getAttribute("d") ?? "");
  const path = new Path2D();
  if (shape instanceof SVGRectElement) {
    path.rect(number("x"), number("y"), number("width"), number("height"));
  } else if (shape instanceof SVGLineElement) {
    path.moveTo(number("x1"), number("y1"));
    path.lineTo(number("x2"), number("y2"));
  } else if (shape instanceof SVGCircleElement) {
    path.arc(number("cx"), number("cy"), number("r"), 0, 2 * Math.PI);
  }
  return path;
}

function paint(context: CanvasRenderingContext2D, path: Path2D, style: CSSStyleDeclaration): void {
  if (style.fill !== "none") {
    context.fillStyle = style.fill;
    context.globalAlpha = Number(style.fillOpacity);
    context.fill(path);
    context.globalAlpha = 1;
  }
  if (style.stroke !== "none") {
    context.strokeStyle = style.stroke;
    context.lineWidth = Number(style.strokeWidth.replace("px", ""));
    const dashes = style.strokeDasharray.match(/[\d.]+/g);
    context.setLineDash((dashes ?? []).map(Number));
    context.lineJoin = "round";
    context.stroke(path);
  }
}

function drawText(
  context: CanvasRenderingContext2D,
  text: SVGTextElement,
  style: CSSStyleDeclaration,
): void {
  context.fillStyle = style.fill;
  context.font = `${style.fontSize} ${style.fontFamily}`;
  const anchors = { start: "left", middle: "center", end: "right" } as const;
  const anchor = style.textAnchor;
  context.textAlign = anchor === "middle" || anchor === "end" ? anchors[anchor] : anchors.start;
  context.textBaseline = text.hasAttribute("dy") ? "middle" : "alphabetic";
  const number = (name: string): number => Number(text.getAttribute(name) ?? 0);
  context.fillText(text.textContent, number("x"), number("y"));
}

function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
