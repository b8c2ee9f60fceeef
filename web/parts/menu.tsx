/** A button that opens a popover below it. The browser closes it by Escape or a click outside. */
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { type View, useView } from "../state/view.js";
import { Icon, type IconName } from "./icon.js";

export function Menu(props: {
  readonly label: ComponentChildren;
  /** Said in front of the label to those who do not see where it stands. */
  readonly name?: string;
  readonly icon?: IconName;
  readonly isPlain?: boolean;
  readonly hasChevron?: boolean;
  readonly onOpen?: () => void;
  readonly children: ComponentChildren;
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const { name, icon, isPlain = false, hasChevron = true } = props;
  return (
    <>
      <button
        type="button"
        class={isPlain ? "button plain" : "menu-button"}
        popovertarget={id}
        ref={button}
      >
        {name === undefined ? null : <span class="unseen">{name}: </span>}
        {icon === undefined ? null : <Icon name={icon} />}
        {typeof props.label === "string" ? <span class="cut">{props.label}</span> : props.label}
        {hasChevron && !isPlain ? <Icon name="chevron" /> : null}
      </button>
      <div
        id={id}
        class="menu"
        popover="auto"
        onToggle={(event) => {
          if (event.newState === "open") props.onOpen?.();
          if (event.newState === "open" && button.current !== null) {
            place(event.currentTarget, button.current);
          }
        }}
        onClick={(event) => {
          // A choice was made; the page stays, so nothing else would close it.
          const { target } = event;
          const chosen = target instanceof Element ? target.closest("a, .choice") : null;
          if (chosen !== null) event.currentTarget.hidePopover();
        }}
      >
        {props.children}
      </div>
    </>
  );
}

/** One of several values; the one that holds is marked. */
export function Choice(props: {
  readonly href: string;
  readonly isCurrent?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <a href={props.href} aria-current={props.isCurrent === true ? "true" : undefined}>
      {typeof props.children === "string" ? (
        <span class="cut">{props.children}</span>
      ) : (
        props.children
      )}
    </a>
  );
}

/** A parameter of the address that has one of some values; the usual one is left out of it. */
interface OneOf<Value extends string> {
  readonly param: string;
  readonly labels: Readonly<Record<Value, string>>;
  readonly usual: Value;
}

export function oneOf<Value extends string>(
  param: string,
  usual: NoInfer<Value>,
  labels: Readonly<Record<Value, string>>,
): OneOf<Value> {
  return { param, usual, labels };
}

export function chosenOf<Value extends string>(view: View, of: OneOf<Value>): Value {
  const text = view.get(of.param) ?? "";
  return isOneOf(of, text) ? text : of.usual;
}

function isOneOf<Value extends string>({ labels }: OneOf<Value>, text: string): text is Value {
  return Object.hasOwn(labels, text);
}

export function OneOfMenu<Value extends string>(props: {
  readonly name: string;
  readonly of: OneOf<Value>;
}) {
  const { name, of } = props;
  const view = useView();
  const chosen = chosenOf(view, of);
  return (
    <Menu name={name} label={of.labels[chosen]}>
      {Object.entries<string>(of.labels).map(([value, label]) => (
        <Choice
          key={value}
          href={view.with({ [of.param]: value === of.usual ? null : value })}
          isCurrent={value === chosen}
        >
          {label}
        </Choice>
      ))}
    </Menu>
  );
}

const gapPx = 4;

/** Below the anchor, or above it where there is no room; never beyond the window. */
export function place(popover: HTMLElement, anchor: Element): void {
  const at = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = popover;
  const left = Math.max(gapPx, Math.min(at.left, innerWidth - width - gapPx));
  const below = at.bottom + gapPx;
  const isBelow = below + height <= innerHeight || at.top - gapPx - height < 0;
  popover.style.left = `${left}px`;
  popover.style.top = `${isBelow ? below : at.top - gapPx - height}px`;
}
