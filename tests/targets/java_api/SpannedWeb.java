import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;
import sonde.Sonde;
import sonde.Span;

/**
 * Tomcat with a span for each request: answers /N with the sum of squares below N. Its port is the
 * first line of its output. The second argument: "virtual" threads, or those of Tomcat.
 */
public final class SpannedWeb {
    static final class Squares extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response)
                throws IOException {
            int n = Integer.parseInt(request.getPathInfo().substring(1));
            long total;
            try (Span span = Sonde.span("sum")) {
                total = sum(n);
                pause(); // a virtual thread goes on with another carrier, perhaps
                total = (total + sum(n)) / 2;
            }
            response.setContentType("application/json");
            long pid = ProcessHandle.current().pid();
            response.getWriter().print("{\"pid\": " + pid + ", \"total\": " + total + "}");
        }
    }

    static void pause() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static long sum(int n) {
        long total = 0;
        for (int turn = 0; turn < 300; turn++) {
            total = 0;
            for (long i = 0; i < n; i++) {
                total += i * i;
            }
        }
        return total;
    }

    /** By name: compiled for a Java that may not have them. */
    static Executor virtualThreads() throws Exception {
        return (Executor) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Files.createTempDirectory(Path.of(arguments[0]), "web");
        Tomcat server = new Tomcat();
        server.setBaseDir(folder.toString());
        server.setPort(0);
        server.getConnector().setProperty("address", "127.0.0.1");
        if (arguments[1].equals("virtual")) {
            server.getConnector().getProtocolHandler().setExecutor(virtualThreads());
        }
        Context context = server.addContext("", folder.toString());
        FilterDef filter = new FilterDef();
        filter.setFilterName("spans");
        filter.setFilterClass("SpanFilter");
        context.addFilterDef(filter);
        FilterMap everything = new FilterMap();
        everything.setFilterName("spans");
        everything.addURLPattern("/*");
        context.addFilterMap(everything);
        Tomcat.addServlet(context, "squares", new Squares());
        context.addServletMappingDecoded("/*", "squares");
        server.start();
        System.out.println(server.getConnector().getLocalPort());
        System.out.flush();
        while (System.in.read() >= 0)
            ;
        server.stop();
        server.destroy();
        System.out.println("over");
        System.exit(0);
    }
}
