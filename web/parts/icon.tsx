/** The few icons there are, drawn as strokes on a field of 16. */
const paths = {
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "m4 4 8 8m0-8-8 8",
  chevron: "m4 6 4 4 4-4",
  filter: "M2 3h12l-4.5 5.5V13l-3-1.500V8.500Z",
  freeze: "M8 1.500v13M2.400 4.800l11.200 6.400M13.600 4.800 2.400 11.200",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  download: "M8 2v8m-3-3 3 3 3-3M3 13.500h10",
  help: "M6 6a2 2 0 1 1 2.700 1.900c-.5.2-.7.6-.7 1.100V10m0 2.500v.01",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.600-1.400L14 14",
  table: "M2 3h12v10H2ZM2 6.500h12M6.500 3v10",
  chart: "M2 13.500h12M4 11V7m4 4V3m4 8V5",
  pause: "M5.500 3v10M10.500 3v10",
  play: "m5 3 8 5-8 5Z",
  bookmark: "M4 2h8v12l-4-3-4 3Z",
  note: "M3 2h10v9l-3 3H3ZM13 11h-3v3",
  scheme: "M8 2a6 6 0 1 0 0 12ZM8 2a6 6 0 0 1 0 12",
  out: "M6 3H3v10h3m4-8 3 3-3 3m3-3H6",
  undo: "M3 6h7a3.500 3.500 0 0 1 0 7H7M3 6l3-3M3 6l3 3",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
