// Marks the texts whose contrast axe is to judge: one for each look, and by that all of them. A look is what contrast is
// made of: colour, size and weight of a text, and what lies behind it. A page of code shows thousands of texts in some
// thirty looks, and axe takes a millisecond or two for each.
// What was marked before, in another colour scheme, stays so.
// A text that is placed over others, cut off by its box or switched off stands for itself alone.
(mark) => {
    const backgrounds = new Map([[null, { look: "", box: null, placed: false }]]);
    const background = (element) => {
        if (!backgrounds.has(element)) {
            const style = getComputedStyle(element), parent = background(element.parentElement);
            const own = [style.backgroundColor, style.backgroundImage, style.opacity, style.filter, style.mixBlendMode];
            backgrounds.set(element, {
                look: `${parent.look};${own}`,
                box: /hidden|clip/.test(style.overflow) ? element.getBoundingClientRect() : parent.box,
                placed: parent.placed || /absolute|fixed|sticky/.test(style.position),
            });
        }
        return backgrounds.get(element);
    };
    const cutOff = (inner, outer) => outer
        && (inner.left < outer.left || inner.right > outer.right || inner.top < outer.top || inner.bottom > outer.bottom);
    const ownText = (element) =>
        [...element.childNodes].filter((child) => child.nodeType === Node.TEXT_NODE).map((child) => child.data).join("").trim();

    const alike = new Map();
    for (const element of document.body.querySelectorAll("*")) {
        if (!ownText(element) && !element.matches("input, select, textarea")) continue;
        if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
        if (element.closest("mjx-assistive-mml")) continue;  // formulas for a screen reader, cut off from sight by MathJax
        const style = getComputedStyle(element), { look, box, placed } = background(element);
        const alone = placed || cutOff(element.getBoundingClientRect(), box)
            || element.closest("input, select, textarea, label, [disabled], [aria-disabled]");
        const key = alone ? element
            : [style.color, style.fontSize, style.fontWeight, style.textShadow, style.webkitTextStroke, look].join();
        if (!alike.has(key)) alike.set(key, []);
        alike.get(key).push(element);
    }
    for (const elements of alike.values()) {
        const spokesman = elements.find((element) => /\w\w/.test(ownText(element)));  // axe judges no lone sign
        for (const each of spokesman ? [spokesman] : elements) each.setAttribute(mark, "");
    }
}
