// What is wrong with the drawings that a page shows, as sentences. A text must be inside of its drawing and of the cell
// or box in which it stands, large enough, darker or lighter than what lies behind it, and free of other texts and lines.
() => {
    const faults = [];
    const inside = (inner, outer) => inner.left > outer.left - 0.5 && inner.right < outer.right + 0.5
        && inner.top > outer.top - 0.5 && inner.bottom < outer.bottom + 0.5;
    const holds = (box, x, y) => x > box.left && x < box.right && y > box.top && y < box.bottom;
    const colour = (words) => words.match(/[\d.]+/g).map(Number);
    const over = ([r, g, b], opacity, under) => [r, g, b].map((each, n) => opacity * each + (1 - opacity) * under[n]);
    const luminance = (rgb) => {
        const [r, g, b] = rgb.map((each) => each / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (one, other) => {
        const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
        return (light + 0.05) / (dark + 0.05);
    };
    const paper = (element) => {
        const [r, g, b, a = 1] = colour(getComputedStyle(element).backgroundColor);
        return a === 1 ? [r, g, b] : paper(element.parentElement);
    };

    const drawings = [...document.querySelectorAll("svg")].filter((svg) => svg.getBoundingClientRect().width);
    if (!drawings.length) faults.push("no drawing is shown");
    for (const svg of drawings) {
        const name = svg.querySelector(":scope > title")?.textContent.trim();
        const say = (words) => faults.push(`${name}: ${words}`);
        if (!name) say("has no title");
        if (!svg.querySelector(":scope > desc")?.textContent.trim()) say("has no description");
        const box = svg.getBoundingClientRect();
        const texts = [...svg.querySelectorAll("text")].map((text) => ({ text, words: text.textContent, box: text.getBoundingClientRect() }));
        const rectangles = [...svg.querySelectorAll("rect")].map((rect) => ({ rect, box: rect.getBoundingClientRect() }));
        const lines = [...svg.querySelectorAll("path.line")].flatMap((path) => {
            const points = [], to_screen = path.getScreenCTM();
            for (let at = 0; at < path.getTotalLength(); at += 3) points.push(path.getPointAtLength(at).matrixTransform(to_screen));
            return points;
        });
        texts.forEach(({ text, words, box: own }, number) => {
            const x = (own.left + own.right) / 2, y = (own.top + own.bottom) / 2;
            if (!inside(own, box)) say(`“${words}” is cut`);
            for (const each of [text, ...text.querySelectorAll("tspan")]) {
                const size = parseFloat(getComputedStyle(each).fontSize);
                if (size < 13) say(`“${each.textContent}” is ${size} pixels high`);
            }
            for (const other of texts.slice(number + 1)) {
                const wide = Math.min(own.right, other.box.right) - Math.max(own.left, other.box.left);
                const high = Math.min(own.bottom, other.box.bottom) - Math.max(own.top, other.box.top);
                if (wide > 0.5 && high > 0.5) say(`“${words}” and “${other.words}” overlap`);
            }
            const before = rectangles.filter(({ rect }) => rect.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING);
            const behind = before.filter((each) => holds(each.box, x, y));
            const smallest = [...behind].sort((a, b) => a.box.width * a.box.height - b.box.width * b.box.height)[0];
            if (smallest && !inside(own, smallest.box)) say(`“${words}” leaves its box`);
            let ground = paper(svg.parentElement);
            for (const { rect } of behind) {
                const style = getComputedStyle(rect);
                ground = over(colour(style.fill), Number(style.fillOpacity), ground);
            }
            for (const each of [text, ...text.querySelectorAll("tspan")]) {
                const ratio = contrast(colour(getComputedStyle(each).fill), ground);
                if (ratio < 4.5) say(`“${each.textContent}” has a contrast of ${ratio.toFixed(2)}`);
            }
            const own_ground = text.previousElementSibling?.style.fill === "var(--paper)";  // cuts the line that it names
            const core = { left: own.left + 1, right: own.right - 1, top: own.top + 3, bottom: own.bottom - 3 };
            if (!own_ground && lines.some((point) => holds(core, point.x, point.y))) say(`a line crosses “${words}”`);
        });
        const scroller = svg.parentElement;
        const reached = scroller.tabIndex === 0 && scroller.getAttribute("role") === "region" && scroller.getAttribute("aria-label");
        if (!reached) say("stands in a box that the keyboard does not reach");
    }
    if (document.documentElement.scrollWidth > innerWidth) faults.push("the page is wider than its window");
    return faults;
}
