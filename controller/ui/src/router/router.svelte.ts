/** The address of the page, kept in the browser's history. */

class Router {
  path = $state(location.pathname);
  search = $state(location.search);
  /** How often the page has changed since it was loaded: the first page does not take the focus. */
  turns = $state(0);
  query = $derived(new URLSearchParams(this.search));

  /** Go to a path of this site. `replace`: the present page is not to be gone back to. */
  go(url: string, options: { replace?: boolean } = {}): void {
    const before = this.path;
    history[options.replace ? 'replaceState' : 'pushState'](null, '', url);
    this.#read();
    if (this.path !== before) {
      this.turns += 1;
      window.scrollTo(0, 0);
    }
  }

  /** Follow links and the browser's own buttons. Returns how to stop. */
  listen(): () => void {
    const back = () => {
      this.#read();
      this.turns += 1;
    };
    const click = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest('a') : null;
      if (!link || event.defaultPrevented || event.button !== 0 || link.target || link.hasAttribute('download')) return;
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.origin !== location.origin) return;
      if (link.hash && link.pathname === location.pathname) return;
      if (link.pathname.startsWith('/ui/') || link.pathname.startsWith('/api/')) return; // the controller's own
      event.preventDefault();
      this.go(link.pathname + link.search + link.hash);
    };
    window.addEventListener('popstate', back);
    document.addEventListener('click', click);
    return () => {
      window.removeEventListener('popstate', back);
      document.removeEventListener('click', click);
    };
  }

  #read(): void {
    this.path = location.pathname;
    this.search = location.search;
  }
}

export const router = new Router();
